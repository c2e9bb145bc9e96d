// A reading: what it says, and the policy switches.
import assert from "node:assert/strict";
import { test } from "node:test";
import { demo, read, startBrowser, startService, visitor } from "./lib.mjs";
import { startUpstream } from "./upstream.mjs";

test("a reading", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const headline = (page) => page.getByRole("heading", { level: 1 }).innerText();
  const pool = "Entering and leaving liquidity pools";

  await t.test("a policy switch reads again at once", async (t) => {
    const page = await visitor(t, browser, service);
    await read(page, demo("v2_liquidity_add").hash, "demo");
    assert.equal(await headline(page), "A taxable disposal");
    await page.getByLabel(pool).selectOption("non_taxable");
    await page.waitForURL(/lp=non_taxable/);
    assert.match(await headline(page), /^Not taxable/);
    assert.equal(await page.getByLabel(pool).inputValue(), "non_taxable");
    await page.goBack();
    assert.equal(await headline(page), "A taxable disposal");
    assert.equal(await page.getByLabel(pool).inputValue(), "disposal", "the switch says what the page says");
  });

  await t.test("without script a button does the same", async (t) => {
    const page = await visitor(t, browser, service, { javaScriptEnabled: false });
    await read(page, demo("v2_liquidity_add").hash, "demo");
    await page.getByLabel(pool).selectOption("non_taxable");
    assert.equal(await headline(page), "A taxable disposal");
    await page.getByRole("button", { name: "Read again" }).click();
    assert.match(await headline(page), /^Not taxable/);
  });

  await t.test("a switch stays on the chain that was asked for, where two chains have the hash", async (t) => {
    const upstream = await startUpstream(t, {});
    const service = await startService(t, { TAXON_RPC_ETHEREUM: upstream });
    const page = await visitor(t, browser, service);
    const chain = () => page.locator(".facts dt:text-is('Chain') + dd").innerText();
    await read(page, demo("v2_liquidity_add").hash, "ethereum");
    assert.equal(await chain(), "Ethereum");
    await page.getByLabel(pool).selectOption("non_taxable");
    await page.waitForURL(/lp=non_taxable/);
    assert.equal(await chain(), "Ethereum");
  });

  await t.test("the same transaction from another wallet's side", async (t) => {
    const page = await visitor(t, browser, service);
    await read(page, demo("token_transfer").hash);
    await page.getByLabel("Read it from another wallet's side").fill("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");
    await page.getByRole("button", { name: "Read for this wallet" }).click();
    await page.waitForURL(/wallet=/);
    assert.match(await page.locator(".sides .in").innerText(), /\+\s120\.5 dUSD/);
  });

  await t.test("spam and look-alikes are marked", async (t) => {
    const page = await visitor(t, browser, service);
    const [spam, imitation] = ["spam_airdrop", "usdc_imitation_receipt"].map(demo);
    await read(page, spam.hash, "demo", spam.wallet);
    assert.match(await headline(page), /spam/);
    await page.getByText("⚠ Spam: do not book it").waitFor();
    await read(page, imitation.hash, "demo", imitation.wallet);
    await page.getByText("⚠ Look-alike symbol").waitFor();
  });

  await t.test("an address is copied whole", async (t) => {
    const page = await visitor(t, browser, service);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.url });
    const { hash } = demo("v2_swap_tokens");
    await read(page, hash);
    await page.getByRole("button", { name: /^Copy transaction hash/ }).click();
    await page.getByRole("status").getByText("Copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), hash);
  });

  await t.test("a hash that is none is told in the form", async (t) => {
    const page = await visitor(t, browser, service, { refusals: [400] });
    await page.goto("/");
    await page.getByLabel("Transaction hash").fill("hello");
    await page.getByRole("button", { name: "Read it" }).click();
    assert.match(await page.getByRole("alert").innerText(), /hash/i);
    assert.equal(await page.getByLabel("Transaction hash").inputValue(), "hello");
  });
});
