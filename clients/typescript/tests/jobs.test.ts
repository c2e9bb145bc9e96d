/** Jobs, books and the journal: against the real service, and a server that fails as the test says. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { openAsBlob, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  BadAnswer,
  InvalidRequest,
  type Job,
  JobFailed,
  JobUnfinished,
  NotFound,
  RateLimited,
  ServiceFailed,
  type Table,
  Taxon,
  TaxonError,
  Unreachable,
} from "taxon-client";
import { type Answer, error, EVM, freePort, HASHES, inFolder, named, ROOT, type Scripted, scripted, type Seen, serve } from "./support.js";

const QUICK = { triesMax: 3, pauseSecondsFirst: 0.001, pauseSecondsMax: 0.004 };
const FIVE = EVM.slice(0, 5).map((transaction) => transaction.hash);
const TABLE = ["Txhash", ...FIVE].join("\n");
const WALLET = EVM[0]!.wallet;
const STRANGER = `0x${"11".repeat(20)}`;

/** A job as the service writes it. */
function status(state: string, fields: object = {}): object {
  return {
    id: "job_1",
    book: null,
    name: "table",
    state,
    reason: null,
    rows: 1,
    read: 0,
    failed: 0,
    needs_review: 0,
    rows_per_second: null,
    seconds_left: null,
    created_at: "2026-01-01T00:00:00Z",
    started_at: null,
    ended_at: null,
    kept_until: "2026-01-31T00:00:00Z",
    table: {},
    ...fields,
  };
}

const TAKEN: Answer = { status: 202, body: status("open") };

async function against(answers: Scripted[], use: (taxon: Taxon, seen: Seen[]) => Promise<void>, retry = {}): Promise<void> {
  await scripted(answers, (baseUrl, seen) =>
    use(new Taxon({ baseUrl, key: "txn_abcdefgh_0123456789abcdefghijABCDEFGHIJ01", retry: { ...QUICK, ...retry }, timeoutSeconds: 5 }), seen),
  );
}

async function all(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const whole: Uint8Array[] = [];
  for await (const piece of pieces) whole.push(piece);
  return Buffer.concat(whole);
}

async function ids(jobs: AsyncIterable<Job>): Promise<string[]> {
  const found: string[] = [];
  for await (const job of jobs) found.push(job.id);
  return found;
}

test("jobs of the service", { concurrency: false }, async (t) => {
  await serve({}, async (service) => {
    const owned = (owner: string) => new Taxon({ baseUrl: service.url, key: service.key(`${owner}@example.com`) });

    await t.test("a table in every form, to results", async () => {
      const taxon = owned("forms");
      const bytes = new TextEncoder().encode(TABLE);
      const forms: Table[] = [TABLE, bytes, bytes.buffer as ArrayBuffer, new Blob([TABLE]), new Blob([TABLE]).stream()];
      await inFolder(async (folder) => {
        writeFileSync(`${folder}/table.csv`, TABLE);
        forms.push(await openAsBlob(`${folder}/table.csv`));
        const jobs: Job[] = [];
        for (const form of forms) jobs.push(await taxon.createJob(form));
        const seen: string[] = [];
        for (const job of jobs) {
          assert.equal(job.rows, 5);
          assert.equal((job.table["columns"] as { hash: string }).hash, "Txhash");
          const ended = await taxon.waitForJob(job.id, { timeoutSeconds: 60, onProgress: (job) => seen.push(job.state) });
          assert.deepEqual([ended.state, ended.read, ended.failed], ["finished", 5, 0]);
        }
        assert.equal(seen.at(-1), "finished");
        assert.deepEqual(await ids(taxon.jobs()), jobs.map((job) => job.id).reverse());

        const lines = (await all(taxon.jobResults(jobs[0]!.id, "jsonl"))).toString().trimEnd().split("\n");
        const found = lines.map((line) => (JSON.parse(line) as { hash: string }).hash);
        assert.deepEqual(found.sort(), [...FIVE].sort());
        assert.match((await all(taxon.jobResults(jobs[0]!.id))).toString(), /^\S+,/);
        assert.equal((await all(taxon.jobResults(jobs[0]!.id, "parquet"))).subarray(0, 4).toString(), "PAR1");
        // Left before the end.
        for await (const piece of taxon.jobResults(jobs[0]!.id)) {
          assert.ok(piece.length > 0);
          break;
        }
        await assert.rejects(all(taxon.jobResults(jobs[0]!.id, "nonsense")), InvalidRequest);
      });
    });

    await t.test("what a job may carry", async () => {
      const taxon = owned("carries");
      const wrap = named("weth_wrap");
      const table = `Txhash,Other\n${HASHES[0]!},${wrap.hash}\n`;
      const [first] = await taxon.books();
      assert.equal(first?.name, "My books");
      const job = await taxon.createJob(table, {
        book: first.id,
        name: "a, b & c",
        column: "Other",
        chain: "demo",
        wallet: wrap.wallet,
        own_wallets: new Set([wrap.wallet, STRANGER]),
        policy: { wrap: "disposal", lp: "non_taxable" },
        start: false,
      });
      assert.deepEqual([job.state, job.book, job.name], ["ready", first.id, "a, b & c"]);
      assert.equal((job.table["columns"] as { hash: string }).hash, "Other");
      // It would wait for ever.
      assert.equal((await taxon.waitForJob(job.id, { timeoutSeconds: 60 })).state, "ready");
      assert.ok(["open", "finished"].includes((await taxon.startJob(job.id)).state));
      assert.equal((await taxon.waitForJob(job.id, { timeoutSeconds: 60 })).state, "finished");
      const row = JSON.parse((await all(taxon.jobResults(job.id, "jsonl"))).toString()) as Record<string, string>;
      assert.deepEqual([row["hash"], row["chain"], row["treatment"]], [wrap.hash, "demo", "disposal"]);
      assert.equal(row["perspective"]?.toLowerCase(), wrap.wallet.toLowerCase());

      const ready = await taxon.createJob(new File([table], "of the file.csv"), { start: false });
      assert.equal(ready.name, "of the file.csv");
      assert.equal((await taxon.cancelJob(ready.id)).state, "cancelled");
      assert.equal((await taxon.waitForJob(ready.id)).state, "cancelled");
      assert.equal((await taxon.startJob(ready.id)).state, "cancelled");
    });

    await t.test("the errors of jobs", async () => {
      const taxon = owned("errors");
      await assert.rejects(taxon.createJob("nothing,of\nthe,kind\n"), InvalidRequest);
      assert.deepEqual(await ids(taxon.jobs()), []);
      await assert.rejects(taxon.createJob(TABLE, { book: "book_of_somebody_else" }), NotFound);
      await assert.rejects(taxon.createJob(TABLE, { own_wallets: WALLET }), TypeError);
      for (const call of ["job", "startJob", "cancelJob", "waitForJob"] as const) {
        await assert.rejects(taxon[call]("job_nobody"), NotFound);
      }
      await assert.rejects(all(taxon.jobResults("job_nobody")), NotFound);
      for (const id of ["", "..", "a/../b", "a?b", "é"]) await assert.rejects(taxon.job(id), TypeError);
      await assert.rejects(taxon.createWalletsJob({ wallets: [WALLET] }), InvalidRequest);
    });

    await t.test("the pages of jobs", async () => {
      const taxon = owned("pages");
      const made: string[] = [];
      for (let number = 0; number < 52; number++) {
        const job = await taxon.createJob(TABLE, { start: false });
        await taxon.cancelJob(job.id);
        made.push(job.id);
      }
      assert.deepEqual(await ids(taxon.jobs()), made.reverse());
    });

    await t.test("the journal", async () => {
      const taxon = owned("journal");
      const unknown = { hash: `0x${"ab".repeat(32)}`, chain: "nowhere" };
      const results = await taxon.classifyAll([named("v2_swap_eth_in").hash, unknown]);
      const prices = [{ time: "2026-01-01", asset: "ETH", currency: "USD", price: "3000" }];
      const journal = await taxon.journal({ results, prices, currency: "USD" });
      assert.equal(journal.skipped, 1);
      const ether = journal.lines.filter((line) => line.symbol === "ETH" && line.entry === "dispose");
      assert.deepEqual(ether.map((line) => [line.quantity, line.value]).sort(), [
        ["-0.8", "-2400"],
        ["0.8", "2400"],
      ]);
      assert.equal((await taxon.journal({ results })).unpriced, journal.lines.length);
      const chart = readFileSync(new URL("crates/books/accounts.toml", ROOT), "utf8").replaceAll("Assets:Wallets", "Assets:Mine");
      assert.match((await taxon.journal({ results, chart })).lines[0]!.account, /^Assets:Mine/);
      await assert.rejects(taxon.journal({ results, chart: "no chart" }), InvalidRequest);
    });

    await t.test("the job of the readme", async () => {
      const readme = readFileSync(new URL("clients/typescript/README.md", ROOT), "utf8");
      const sample = /```ts\n(const job = .*?)```/s.exec(readme)![1]!;
      const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => (...given: unknown[]) => Promise<void>;
      const pieces: Uint8Array[] = [];
      const file = { write: (piece: Uint8Array) => pieces.push(piece) };
      const console = { log: () => undefined };
      await new AsyncFunction("taxon", "table", "file", "console", sample)(owned("readme"), TABLE, file, console);
      assert.ok(Buffer.concat(pieces).length > 100);
    });
  });
});

test("wallets", async () => {
  const nothing: Answer = { body: { status: "0", message: "No transactions found", result: [] } };
  const answers: Scripted[] = [nothing];
  await scripted(answers, (explorer) =>
    serve({ TAXON_EXPLORER_ETHEREUM: `${explorer}/api` }, async (service) => {
      const taxon = new Taxon({ baseUrl: service.url, key: service.key() });
      const asked = await taxon.createWalletsJob({
        wallets: [WALLET],
        chain: "ethereum",
        from: "2024-01-01",
        to: "2024-12-31",
        name: "2024",
        own_wallets: [STRANGER],
        policy: { lp: "non_taxable" },
        start: false,
      });
      assert.deepEqual([asked.state, asked.name], ["listing", "2024"]);
      const ended = await taxon.waitForJob(asked.id, { timeoutSeconds: 60 });
      assert.deepEqual([ended.state, ended.rows], ["finished", 0]);
      // A list that cannot be trusted ends the job.
      answers[0] = { body: { status: "1", message: "OK", result: [{ hash: 7 }] } };
      const failing = await taxon.createWalletsJob({ wallets: [WALLET] });
      await assert.rejects(taxon.waitForJob(failing.id, { timeoutSeconds: 60 }), (error) => {
        assert.ok(error instanceof JobFailed);
        assert.equal(error.job.id, failing.id);
        assert.ok(error.job.reason && error.message.includes(error.job.reason));
        return true;
      });
    }),
  );
});

for (const failure of [error(429, "rate_limited", { "retry-after": "0" }), { status: 503, body: "" }]) {
  test(`an upload that was not taken is sent again whole: ${failure.status}`, async () => {
    for (const table of [TABLE, new TextEncoder().encode(TABLE), new Blob([TABLE])]) {
      await against([failure, failure, TAKEN], async (taxon, seen) => {
        assert.equal((await taxon.createJob(table)).id, "job_1");
        assert.deepEqual(seen.map((request) => request.text), [TABLE, TABLE, TABLE]);
      });
    }
    await against([failure, TAKEN], async (taxon, seen) => {
      await taxon.createWalletsJob({ wallets: [WALLET] });
      assert.deepEqual(seen.map((request) => request.body), [{ wallets: [WALLET] }, { wallets: [WALLET] }]);
    });
    await against([failure, TAKEN], async (taxon, seen) => {
      await assert.rejects(taxon.createJob(new Blob([TABLE]).stream()), TaxonError);
      assert.equal(seen.length, 1);
    });
  });
}

const unsure: [string, Answer][] = [
  ["500", error(500, "internal_error")],
  ["502", { status: 502, body: "<html>" }],
  ["504", { status: 504, body: "" }],
  ["a reset", { isReset: true }],
  ["a broken answer", { ...TAKEN, cutAt: 20 }],
  ["a page", { status: 202, body: "<html>" }],
];
for (const [name, failure] of unsure) {
  test(`what may have been taken is not sent again: ${name}`, async () => {
    await against([failure, TAKEN], async (taxon, seen) => {
      await assert.rejects(taxon.createJob(TABLE), TaxonError);
      assert.equal(seen.length, 1);
    });
    await against([failure, TAKEN], async (taxon, seen) => {
      await assert.rejects(taxon.createWalletsJob({ wallets: [WALLET] }), TaxonError);
      assert.equal(seen.length, 1);
    });
  });
}

test("nobody listens yet", async () => {
  const port = await freePort();
  const taxon = new Taxon({ baseUrl: `http://127.0.0.1:${port}`, retry: { triesMax: 50, pauseSecondsFirst: 0.05 } });
  const lost = taxon.createJob(TABLE).catch((error: unknown) => error);
  await pause(200);
  // Refused until now, and reset without an answer from here on: only the former is surely not taken.
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.resetAndDestroy();
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  const error = await lost;
  server.close();
  assert.ok(error instanceof Unreachable && !error.isUntaken);
  assert.equal(connections, 1);
});

test("a large table that is refused early", async () => {
  await serve({ TAXON_RATE_PER_MINUTE: "1" }, async (service) => {
    const taxon = new Taxon({ baseUrl: service.url, key: service.key(), retry: { triesMax: 1 } });
    await taxon.createJob(TABLE);
    // `fetch` of Node gives up when it cannot write on, without reading the answer that is there.
    await assert.rejects(taxon.createJob(new Uint8Array(30_000_000)), (error) => error instanceof RateLimited || error instanceof Unreachable);
    assert.equal((await ids(taxon.jobs())).length, 1);
  });
});

test("waiting", async () => {
  const open = ["open", "waiting", "a_new_state"].map((state) => ({ body: status(state) }));
  const ended = { body: status("a_new_end", { ended_at: "2026-01-01T00:00:01Z" }) };
  await against([...open, error(502, "upstream_timeout"), ended], async (taxon, seen) => {
    assert.equal((await taxon.waitForJob("job_1")).state, "a_new_end");
    const [first, second, third] = seen.slice(1).map((request, index) => request.at - seen[index]!.at);
    assert.ok(400 < first! && first! < second! && second! < third!, `${first}, ${second}, ${third}`);
    assert.equal(seen.length, 5);
  });
  await against([{ body: status("waiting", { reason: "the pool is used up" }) }], async (taxon) => {
    await assert.rejects(taxon.waitForJob("job_1", { timeoutSeconds: 0.7 }), (error) => {
      assert.ok(error instanceof JobUnfinished);
      assert.equal(error.job.state, "waiting");
      assert.match(error.message, /the pool is used up/);
      return true;
    });
  });
  const started = performance.now();
  const failing = [error(500, "internal_error")];
  await against(failing, (taxon) => assert.rejects(taxon.waitForJob("job_1", { timeoutSeconds: 0.5 }), ServiceFailed), {
    triesMax: 999,
    pauseSecondsMax: 0.1,
  });
  assert.ok(performance.now() - started < 3000);
});

test("results that break off", async () => {
  const broken = { body: "a,b\n1,2\n", cutAt: 4 };
  await against([error(502, "upstream_timeout"), { isReset: true }, broken], async (taxon, seen) => {
    const pieces = taxon.jobResults("job_1");
    assert.equal(Buffer.from((await pieces.next()).value!).toString(), "a,b\n");
    await assert.rejects(pieces.next(), Unreachable);
    assert.equal(seen.length, 3);
  });
  await scripted([{ isSilent: true }], async (baseUrl, seen) => {
    const taxon = new Taxon({ baseUrl, timeoutSeconds: 0.2, retry: { ...QUICK, triesMax: 2 } });
    await assert.rejects(all(taxon.jobResults("job_1")), (error) => {
      assert.ok(error instanceof Unreachable);
      assert.match(error.message, /nothing came for 0.2 s/);
      return true;
    });
    assert.equal(seen.length, 2);
  });
});

test("answers that are not of the interface", async () => {
  const wrong = [{ state: 1 }, { rows: "1" }, { table: null }, { ended_at: undefined }].map((fields) => status("open", fields));
  for (const body of [...wrong, [], null]) await against([{ body }], (taxon) => assert.rejects(taxon.job("job_1"), BadAnswer));
  await against([{ body: { jobs: [] } }], (taxon) => assert.rejects(ids(taxon.jobs()), BadAnswer));
  await against([{ body: { lines: [{ account: "a", quantity: 1 }] } }], (taxon) =>
    assert.rejects(taxon.journal({ results: [] }), BadAnswer),
  );
  await against([{ body: { jobs: [status("open")], next: "job_1" } }], async (taxon, seen) => {
    const jobs = taxon.jobs();
    for (let count = 0; count < 3; count++) await jobs.next();
    assert.deepEqual(seen.map((request) => request.path), ["/v1/jobs", "/v1/jobs?before=job_1", "/v1/jobs?before=job_1"]);
  });
});
