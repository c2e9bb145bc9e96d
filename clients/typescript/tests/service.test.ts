/** Against the real service. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  Amount,
  type BatchItem,
  InvalidRequest,
  NotFound,
  QuotaExceeded,
  Taxon,
  Unauthorized,
  UpstreamFailed,
} from "taxon-client";
import { EVM, HASHES, named, repeated, ROOT, serve, SOLANA } from "./support.js";

const QUICK = { triesMax: 2, pauseSecondsFirst: 0.01, itemRoundsMax: 1, itemPauseSeconds: 0.01 };
const UNKNOWN = `0x${"ab".repeat(32)}`;
const STRANGER = `0x${"11".repeat(20)}`;

test("the service", { concurrency: false }, async (t) => {
  await serve({}, async (service) => {
    await t.test("one transaction", async () => {
      const taxon = new Taxon({ baseUrl: service.url, key: service.key() });
      const row = await taxon.classify({ hash: named("v2_swap_eth_in").hash, chain: "demo", explain: true });
      assert.deepEqual([row.chain, row.category, row.treatment, row.taxable], ["demo", "swap", "disposal", true]);
      assert.equal(row.id, undefined);
      assert.ok(row.evidence?.length);
      const sent = row.assets.sent[0]!;
      assert.deepEqual([sent.symbol, sent.amount], ["ETH", "0.8"]);
      assert.equal(Amount.of(sent).units, 8n * 10n ** 17n);
      assert.ok(row.assets.received[0]?.from);
    });

    await t.test("the sample of the readme", async () => {
      const readme = readFileSync(new URL("clients/typescript/README.md", ROOT), "utf8");
      const sample = /```ts\nimport .*?;\n(.*?)```/s.exec(readme)![1]!.replace("http://127.0.0.1:8080", service.url);
      const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => (...given: unknown[]) => Promise<void>;
      const printed: unknown[][] = [];
      const console = { log: (...words: unknown[]) => printed.push(words) };
      await new AsyncFunction("Amount", "Taxon", "console", "key", "hashes", sample)(Amount, Taxon, console, service.key(), HASHES);
      assert.deepEqual(printed.slice(0, 2), [
        ["swap", "disposal", true],
        ["ETH", "0.8", 8n * 10n ** 17n],
      ]);
      assert.deepEqual(printed.at(-1), [`${HASHES.length}/${HASHES.length}`]);
    });

    await t.test("what a call may carry", async () => {
      const wrap = named("weth_wrap");
      const taxon = new Taxon({ baseUrl: service.url, key: service.key() });
      assert.equal((await taxon.classify({ hash: wrap.hash })).treatment, "non_taxable");
      assert.equal((await taxon.classify({ hash: wrap.hash, policy: { wrap: "disposal" } })).treatment, "disposal");
      const options = { policy: { wrap: "disposal" }, wallet: wrap.wallet, own_wallets: [wrap.wallet], explain: true } as const;
      const [row] = await taxon.classifyAll([wrap.hash], { ...options, own_wallets: [...options.own_wallets] });
      assert.equal(row?.treatment, "disposal");
      assert.ok(row.evidence?.length);
      assert.equal(row.perspective?.toLowerCase(), wrap.wallet.toLowerCase());
    });

    await t.test("rows stand in the order of the items", async () => {
      const swap = named("v2_swap_eth_in").hash;
      const items: (string | BatchItem)[] = [
        { hash: `0x${swap.slice(2).toUpperCase()}`, tx_id: "a", chain: "demo" },
        { hash: UNKNOWN, tx_id: "b", chain: "nowhere" },
        SOLANA[0]!.hash,
        swap,
        { hash: EVM[0]!.hash, wallet: STRANGER, tx_id: "e" },
      ];
      const rows = await new Taxon({ baseUrl: service.url, key: service.key() }).classifyAll(items);
      assert.deepEqual(
        rows.map((row) => row.id),
        ["a", "b", undefined, undefined, "e"],
      );
      assert.deepEqual(
        rows.map((row) => row.error),
        [undefined, "unsupported_chain", undefined, undefined, "wallet_not_in_transaction"],
      );
      assert.deepEqual([rows[2]?.chain, rows[3]?.chain], ["demo-solana", "demo"]);
      assert.deepEqual([rows[0]?.hash, rows[3]?.hash], [swap, swap]);
    });

    await t.test("the errors that callers act on", async () => {
      const taxon = new Taxon({ baseUrl: service.url, key: service.key(), retry: QUICK });
      await assert.rejects(taxon.classify({ hash: "nonsense" }), (error) => {
        assert.ok(error instanceof InvalidRequest);
        assert.deepEqual([error.code, error.status], ["invalid_hash", 400]);
        assert.ok(error.requestId);
        return true;
      });
      await assert.rejects(taxon.classify({ hash: EVM[0]!.hash, wallet: STRANGER }), NotFound);
      // No chain has it, and the one upstream does not answer: absence was not shown.
      await assert.rejects(taxon.classify({ hash: UNKNOWN }), (error) => {
        assert.ok(error instanceof UpstreamFailed);
        assert.deepEqual([error.code, error.status], ["upstream_unavailable", 502]);
        return true;
      });
      assert.equal((await taxon.classifyAll([UNKNOWN, HASHES[0]!]))[0]?.error, "upstream_unavailable");
      const unknown = new Taxon({ baseUrl: service.url, key: `txn_00000000_${"0".repeat(32)}` });
      await assert.rejects(unknown.classify({ hash: HASHES[0]! }), Unauthorized);
      await assert.rejects(unknown.quotaStatus(), Unauthorized);
    });

    await t.test("an invalid hash is named by its place in the input", async () => {
      const hashes = repeated(130);
      hashes[123] = "nonsense";
      const taxon = new Taxon({ baseUrl: service.url, key: service.key() });
      await assert.rejects(taxon.classifyAll(hashes), (error) => {
        assert.ok(error instanceof InvalidRequest);
        assert.match(error.message, /hashes\[123\]/);
        assert.equal(error.rows?.length, 130);
        assert.equal(error.rows.filter((row) => row !== undefined).length, 100);
        return true;
      });
    });

    await t.test("the lists", async () => {
      const anonymous = new Taxon({ baseUrl: service.url });
      const slugs = (await anonymous.chains()).map((chain) => chain.slug);
      assert.deepEqual(slugs, ["demo", "demo-solana", "ethereum"]);
      const swap = (await anonymous.categories()).find((row) => row.category === "swap");
      assert.equal(swap?.treatment, "disposal");
      assert.equal((await anonymous.quotaStatus()).kind, "anon");
      const partner = new Taxon({ baseUrl: service.url, key: service.key("partner@example.com", "partner") });
      const status = await partner.quotaStatus();
      assert.ok("metered" in status && status.metered === "billing-rail");
    });
  });
});

test("an exhausted pool keeps what was classified", async () => {
  await serve({ TAXON_POOL_DEV: "3" }, async (service) => {
    const taxon = new Taxon({ baseUrl: service.url, key: service.key() });
    const swap = named("v2_swap_eth_in").hash;
    const first = await taxon.classify({ hash: swap });
    const status = await taxon.quotaStatus(swap);
    assert.ok("limit" in status && status.limit === 3 && status.repeat);

    // The first call fills the pool, the second is refused as a whole, the third holds a repeat.
    const billable = EVM.map((transaction) => transaction.hash).filter((hash) => hash !== swap);
    const unseen = Array.from({ length: 100 }, (_, number) => `0x${(number + 1).toString(16).padStart(64, "0")}`);
    const refused = unseen.map((hash) => ({ hash, tx_id: hash.slice(-4) }));
    const progress: [number, number][] = [];
    const rows = await taxon.classifyAll([...billable, ...billable.slice(0, 100 - billable.length), ...refused, swap], {
      onProgress: (...done) => progress.push(done),
    });
    assert.equal(rows.length, 201);
    assert.deepEqual([rows[200]?.error, rows[200]?.category], [undefined, first.category]);
    assert.deepEqual(new Set(rows.slice(100, 200).map((row) => row.error)), new Set(["quota_exceeded"]));
    const row = rows[150]!;
    assert.deepEqual([row.id, row.hash, row.taxable, row.engine], [refused[50]!.tx_id, unseen[50], null, first.engine]);
    assert.ok(row.needs_review && row.review_note);
    assert.deepEqual(progress.at(-1), [201, 201]);

    await assert.rejects(taxon.classifyAll(unseen), QuotaExceeded);
    await assert.rejects(taxon.classify({ hash: unseen[0]! }), QuotaExceeded);
  });
});
