// Every kind of reading, as a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cutOff, inspect } from "./inspect.mjs";
import { demo, read, startBrowser, startService, visitor } from "./lib.mjs";

const READINGS = {
  "reading-swap": "v2_swap_tokens",
  "reading-liquidity": "v2_liquidity_add",
  "reading-review": "forged_swap",
  "reading-flash-loan": "aave_flash_loan",
  "reading-spam": "spam_airdrop",
};
const MINOR_READINGS = {
  "reading-imitation": "usdc_imitation_receipt",
  "reading-bundle": "userop_bundle_of_two",
  "reading-nfts": "seaport_buy_batch",
  "reading-failed": "reverted",
  "reading-long-symbol": "balancer_join",
};

test("readings as pages", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const page = await visitor(t, browser, service);
  for (const [name, transaction] of Object.entries({ ...READINGS, ...MINOR_READINGS })) {
    await t.test(name, async () => {
      const { hash, wallet } = demo(transaction);
      await read(page, hash, "demo", wallet);
      await inspect(page, name, page.url(), { isMain: name in READINGS });
      assert.deepEqual(await cutOff(page), []);
    });
  }
});
