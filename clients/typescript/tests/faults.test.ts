/** What the real service does not do on demand: a small local server fails as the test says. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  BadAnswer,
  InvalidRequest,
  NotFound,
  NotYetMined,
  QuotaExceeded,
  RateLimited,
  RETRY,
  ServiceFailed,
  Taxon,
  TaxonError,
  Unauthorized,
  Unreachable,
  UpstreamFailed,
} from "taxon-client";
import { type Answer, batch, error, freePort, row, type Scripted, scripted, type Seen } from "./support.js";

const KEY = "txn_abcdefgh_0123456789abcdefghijABCDEFGHIJ01";
const QUICK = { pauseSecondsFirst: 0.001, pauseSecondsMax: 0.004, itemPauseSeconds: 0.001 };
const LEG = { symbol: "X", amount: "0.1", action: "received", decimals: 18 };
const HTML = { body: "<html>a proxy's page</html>", headers: { "content-type": "text/html" } };

async function against(answers: Scripted[], use: (taxon: Taxon, seen: Seen[]) => Promise<void>, retry = {}): Promise<void> {
  await scripted(answers, (baseUrl, seen) => {
    const taxon = new Taxon({ baseUrl, key: KEY, retry: { ...QUICK, ...retry }, timeoutSeconds: 5 });
    return use(taxon, seen);
  });
}

async function thrown(promise: Promise<unknown>): Promise<TaxonError> {
  const error = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(error instanceof TaxonError, inspect(error));
  return error;
}

const passing: [string, Answer][] = [
  ["502", error(502, "upstream_timeout")],
  ["a proxy's 502", { status: 502, body: "<html>bad gateway</html>" }],
  ["an empty 502", { status: 502, body: "" }],
  ["503", { status: 503, body: { error: "quota_status_unavailable" } }],
  ["500", error(500, "internal_error")],
  ["429", error(429, "rate_limited")],
  ["429, soon", error(429, "rate_limited", { "retry-after": "soon" })],
  ["429, -5", error(429, "rate_limited", { "retry-after": "-5" })],
  ["429, 0", error(429, "rate_limited", { "retry-after": "0" })],
  ["429, 1970", error(429, "rate_limited", { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" })],
  ["a reset", { isReset: true }],
  ["a broken answer", { body: row(), cutAt: 20 }],
  ["half an answer", { body: '{"api_version":"v1","ha' }],
  ["an empty answer", { body: "" }],
  ["a page", HTML],
];
for (const [name, failure] of passing) {
  test(`tried again: ${name}`, async () => {
    await against([failure, failure, { body: row() }], async (taxon, seen) => {
      assert.equal((await taxon.classify({ hash: "0x1" })).category, "swap");
      assert.equal(seen.length, 3);
    });
  });
}

const staying: [string, Answer, typeof TaxonError | typeof BadAnswer, string][] = [
  ["400", error(400, "invalid_hash"), InvalidRequest, "invalid_hash"],
  ["401", error(401, "unauthorized"), Unauthorized, "unauthorized"],
  ["402", error(402, "quota_exceeded"), QuotaExceeded, "quota_exceeded"],
  ["404", error(404, "tx_not_found"), NotFound, "tx_not_found"],
  ["in the mempool", error(404, "tx_not_yet_mined"), NotYetMined, "tx_not_yet_mined"],
  ["a proxy's 404", { status: 404, body: "<html>" }, NotFound, "http_404"],
  ["a redirect", { status: 302, body: "", headers: { location: "/elsewhere" } }, TaxonError, "http_302"],
  ["a sixth treatment", { body: row({ treatment: "a_sixth_one" }) }, BadAnswer, "bad_answer"],
  ["a treatment that every object has", { body: row({ treatment: "toString" }) }, BadAnswer, "bad_answer"],
  ["taxable as text", { body: row({ taxable: "false" }) }, BadAnswer, "bad_answer"],
  ["an amount as a float", { body: row({ assets: { sent: [{ ...LEG, amount: 0.1 }], received: [], gas: null } }) }, BadAnswer, "bad_answer"],
  ["no assets", { body: row({ assets: null }) }, BadAnswer, "bad_answer"],
  ["a list", { body: [] }, BadAnswer, "bad_answer"],
  ["null", { body: null }, BadAnswer, "bad_answer"],
  ["a code that is none", { status: 400, body: { error: { code: 7 } } }, InvalidRequest, "http_400"],
  ["an error that is none", { status: 400, body: ["error"] }, InvalidRequest, "http_400"],
];
for (const [name, answer, kind, code] of staying) {
  test(`not tried again: ${name}`, async () => {
    await against([answer], async (taxon, seen) => {
      const error = await thrown(taxon.classify({ hash: "0x1" }));
      assert.equal(error.constructor, kind);
      assert.deepEqual([error.code, error.name], [code, kind.name]);
      assert.equal(seen.length, 1);
    });
  });
}

test("tries are bounded", async () => {
  await against([error(502, "upstream_timeout")], async (taxon, seen) => {
    const failed = await thrown(taxon.classify({ hash: "0x1" }));
    assert.ok(failed instanceof UpstreamFailed);
    assert.equal(failed.code, "upstream_timeout");
    assert.equal(seen.length, RETRY.triesMax);
  });
});

test("time is bounded", async () => {
  const retry = { triesMax: 1000, secondsMax: 0.3, pauseSecondsFirst: 0.05, pauseSecondsMax: 30 };
  const use = async (taxon: Taxon) => {
    const started = performance.now();
    assert.ok((await thrown(taxon.classify({ hash: "0x1" }))) instanceof ServiceFailed);
    assert.ok(performance.now() - started < 2000);
  };
  await against([error(500, "internal_error")], use, retry);
});

test("nobody listens", async () => {
  const taxon = new Taxon({ baseUrl: `http://127.0.0.1:${await freePort()}`, retry: QUICK });
  const failed = await thrown(taxon.chains());
  assert.ok(failed instanceof Unreachable);
  assert.equal(failed.status, undefined);
  assert.match(failed.message, /ECONNREFUSED/);
});

test("an answer that does not come", async () => {
  await scripted([{ isSilent: true }], async (baseUrl, seen) => {
    const taxon = new Taxon({ baseUrl, retry: { ...QUICK, triesMax: 2 }, timeoutSeconds: 1 });
    assert.ok((await thrown(taxon.chains())) instanceof Unreachable);
    assert.equal(seen.length, 2);
  });
});

for (const status of [429, 503]) {
  test(`it waits as long as a ${status} says and a little longer`, async () => {
    await against([error(status, "rate_limited", { "retry-after": "1" }), { body: row() }], async (taxon, seen) => {
      await taxon.classify({ hash: "0x1" });
      const waited = seen[1]!.at - seen[0]!.at;
      assert.ok(waited >= 1000 && waited < 2000, `${waited} ms`);
    });
  });
}

test("it waits for a date by the clock of whoever named it", async () => {
  const theirs = Date.now() - 3 * 24 * 3600 * 1000;
  const headers = { date: new Date(theirs).toUTCString(), "retry-after": new Date(theirs + 1000).toUTCString() };
  await against([error(429, "rate_limited", headers), { body: row() }], async (taxon, seen) => {
    await taxon.classify({ hash: "0x1" });
    const waited = seen[1]!.at - seen[0]!.at;
    assert.ok(waited >= 1000 && waited < 2000, `${waited} ms`);
  });
});

for (const text of ["1000000000", "9".repeat(400), "Fri, 01 Jan 2999 00:00:00 GMT"]) {
  test(`it neither waits for ever nor asks too early: ${text.slice(0, 30)}`, async () => {
    await against([error(429, "rate_limited", { "retry-after": text })], async (taxon, seen) => {
      const limited = await thrown(taxon.classify({ hash: "0x1" }));
      assert.ok(limited instanceof RateLimited && limited.retryAfter! >= 1e9);
      assert.equal(seen.length, 1);
    });
  });
}

test("nothing to ask asks nothing", async () => {
  await against([error(500, "internal_error")], async (taxon, seen) => {
    assert.deepEqual(await taxon.classifyAll([]), []);
    assert.deepEqual(await taxon.classifyAll(new Set<string>()), []);
    assert.equal(seen.length, 0);
  });
});

test("a single string is not a list", async () => {
  await assert.rejects(new Taxon({ baseUrl: "http://127.0.0.1:9" }).classifyAll("0x1"), TypeError);
});

test("cut in order, through failures and with repeats", async () => {
  const items = Array.from({ length: 350 }, (_, number) => `0x${(number % 150).toString(16)}`);
  const progress: [number, number][] = [];
  const limited = error(429, "rate_limited", { "retry-after": "0" });
  await against([batch(), limited, batch(), error(502, "upstream_timeout"), { isReset: true }, batch()], async (taxon, seen) => {
    const rows = await taxon.classifyAll(items, { chain: "demo", onProgress: (...done) => progress.push(done) });
    assert.deepEqual(
      rows.map((row) => row.hash),
      items,
    );
    assert.deepEqual(
      seen.map((seen) => seen.body.hashes.length),
      [100, 100, 100, 100, 100, 100, 50],
    );
    assert.deepEqual(seen[0]!.body, { hashes: items.slice(0, 100).map((hash) => ({ hash, chain: "demo" })) });
    assert.deepEqual(progress, [
      [100, 350],
      [200, 350],
      [300, 350],
      [350, 350],
    ]);
  });
});

for (const count of [99, 101, 0]) {
  test(`${count} rows for 100 items are no answer`, async () => {
    const other = { body: { api_version: "v1", count: 100, results: Array.from({ length: count }, () => row()) } };
    await against([batch(), other], async (taxon, seen) => {
      const bad = await thrown(taxon.classifyAll(Array.from({ length: 200 }, () => "0x1")));
      assert.ok(bad instanceof BadAnswer);
      assert.equal(bad.rows?.filter((row) => row !== undefined).length, 100);
      assert.equal(seen.length, 2);
    });
  });
}

for (const code of ["upstream_timeout", "upstream_new_reason", "tx_not_retrievable", "internal_error"]) {
  test(`asked again at the end: ${code}`, async () => {
    const items = Array.from({ length: 150 }, (_, number) => ({ hash: `0x${number}`, tx_id: String(number) }));
    const progress: number[] = [];
    await against([batch(code, 3, 99), batch(code, 7), batch(code, 1), batch()], async (taxon, seen) => {
      const rows = await taxon.classifyAll(items, { onProgress: (done) => progress.push(done) });
      assert.ok(rows.every((row, place) => row.error === undefined && row.id === String(place)));
      const asked = (call: number) => seen[call]!.body.hashes.map((item) => item.tx_id);
      assert.deepEqual([asked(2), asked(3)], [["3", "99", "107"], ["99"]]);
      assert.deepEqual(progress, [98, 147, 149, 150]);
    });
  });
}

async function twoRows(answers: Scripted[]): Promise<{ errors: (string | undefined)[]; calls: number; progress: number[] }> {
  const result = { errors: [] as (string | undefined)[], calls: 0, progress: [] as number[] };
  await against(answers, async (taxon, seen) => {
    const rows = await taxon.classifyAll(["0x1", "0x2"], { onProgress: (done) => result.progress.push(done) });
    result.errors = rows.map((row) => row.error);
    result.calls = seen.length;
  });
  return result;
}

test("the last answer stands", async () => {
  const got = await twoRows([batch("upstream_timeout", 0), batch("upstream_unavailable", 0)]);
  const calls = 1 + RETRY.itemRoundsMax;
  assert.deepEqual(got, { errors: ["upstream_unavailable", undefined], calls, progress: [1, 1, 1, 1, 2] });
});

test("a round that fails as a whole takes nothing back", async () => {
  const got = await twoRows([batch("upstream_timeout", 0), error(401, "unauthorized")]);
  assert.deepEqual(got, { errors: ["upstream_timeout", undefined], calls: 2, progress: [1, 2] });
});

test("a refused round says so", async () => {
  const got = await twoRows([batch("upstream_timeout", 0), error(402, "quota_exceeded")]);
  assert.deepEqual(got, { errors: ["quota_exceeded", undefined], calls: 2, progress: [1, 2] });
});

test("items that failed for good are not asked again", async () => {
  const got = await twoRows([batch("tx_not_found", 0)]);
  assert.deepEqual(got, { errors: ["tx_not_found", undefined], calls: 1, progress: [2] });
});

test("refused first and served later", async () => {
  await against([error(402, "quota_exceeded"), batch()], async (taxon) => {
    const rows = await taxon.classifyAll(Array.from({ length: 101 }, () => "0xAB"));
    assert.ok(rows.slice(0, 100).every((row) => row.error === "quota_exceeded" && row.hash === "0xab"));
    assert.equal(rows[100]?.error, undefined);
  });
});

test("an error says where the input is wrong", async () => {
  const wrong = error(400, "invalid_hash", {}, "hashes[3]: no hash; hashes[700] is none of ours");
  await against([batch(), wrong], async (taxon) => {
    const invalid = await thrown(taxon.classifyAll(Array.from({ length: 110 }, () => "0x1")));
    assert.equal(invalid.message, "hashes[103]: no hash; hashes[700] is none of ours");
    assert.ok(!inspect(invalid).includes("hashes[3]"), inspect(invalid));
  });
});

test("unknown fields and categories are fine", async () => {
  await against([{ body: row({ category: "invented_tomorrow", something: { new: 1 }, ledger_action: "also_new" }) }], async (taxon) => {
    assert.equal((await taxon.classify({ hash: "0x1" })).category, "invented_tomorrow");
  });
});

test("the key is sent and never shown", async () => {
  const answers: Answer[] = [
    error(401, "unauthorized", {}, `no such key: ${KEY}`),
    { body: row({ treatment: KEY }) },
    { status: 400, body: { error: { code: KEY, message: KEY } } },
    { isReset: true },
  ];
  for (const answer of answers) {
    await against([answer], async (taxon, seen) => {
      const failed = await thrown(taxon.classify({ hash: "0x1" }));
      assert.equal(seen[0]!.headers.authorization, `Bearer ${KEY}`);
      const shown = [failed, taxon].map((value) => inspect(value, { depth: null, showHidden: true }) + JSON.stringify(value));
      assert.ok(!shown.join().includes(KEY), shown.join());
    });
  }
});

test("a key that cannot be sent is refused without showing it", () => {
  for (const key of [`${KEY}\n`, ` ${KEY}`, `${KEY}é`, "", "\0"]) {
    assert.throws(
      () => new Taxon({ baseUrl: "http://127.0.0.1:9", key }),
      (error) => error instanceof TypeError && !error.message.includes(KEY),
    );
  }
});

test("address and key from the environment", async (t) => {
  t.after(() => {
    delete process.env["TAXON_URL"];
    delete process.env["TAXON_KEY"];
  });
  await scripted([{ body: row() }], async (url, seen) => {
    process.env["TAXON_URL"] = `${url}/under/a/path/`;
    process.env["TAXON_KEY"] = KEY;
    await new Taxon().classify({ hash: "0x1" });
    assert.equal(seen[0]!.path, "/under/a/path/v1/classify");
    assert.equal(seen[0]!.headers.authorization, `Bearer ${KEY}`);
    assert.deepEqual(seen[0]!.body, { hash: "0x1" });
  });
  delete process.env["TAXON_URL"];
  for (const baseUrl of [undefined, "", "127.0.0.1:8080", "ftp://host", "http://", "http://a:secret@host", "http://host/?a=b"]) {
    assert.throws(
      () => new Taxon({ baseUrl }),
      (error) => error instanceof TypeError && !error.message.includes("secret"),
    );
  }
});
