// Tokens whose names attack the reader: markup, script, reversed writing, and a megabyte.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "./inspect.mjs";
import { demo, enter, eventually, read, startBrowser, startService, visitor } from "./lib.mjs";
import { startUpstream } from "./upstream.mjs";

const DUSD = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
const DEUR = "0xe7f1725e7734ce288f8367e1bb143e90bb3f0512";
const MARKUP = "<img src=x onerror=window.__x=1>";
const NAMES = {
  [DUSD]: { symbol: `${MARKUP}\u202eC`, name: '</title></svg><script>window.__x=1;alert(1)</script>" onload="alert(1)' },
  [DEUR]: { symbol: "USD\u202eC \u2066\u200bX", name: `\u202e${"M".repeat(1 << 20)}` },
};

test("a reading with hostile token names", async (t) => {
  const upstream = await startUpstream(t, NAMES);
  const service = await startService(t, { TAXON_RPC_ETHEREUM: upstream });
  const browser = await startBrowser(t);
  const { hash, wallet } = demo("v2_swap_tokens");
  const forged = demo("forged_supply");

  const page = await visitor(t, browser, service);
  await enter(page);
  await read(page, hash, "ethereum", wallet);
  await page.locator(".sides").getByText(MARKUP).waitFor();
  await harmless(page);
  await inspect(page, "reading-hostile", page.url());
  await read(page, forged.hash, "ethereum", forged.wallet);
  await harmless(page);
  await eventually("it is in the queue", async () => {
    await page.goto("/review");
    return (await page.locator("table tbody tr").count()) > 0;
  });
  await harmless(page);
  await page.goto("/readings");
  await harmless(page);
});

async function harmless(page) {
  const seen = await page.evaluate(() => ({
    ran: "__x" in window,
    scripts: [...document.scripts].map((script) => script.getAttribute("src")),
    images: document.images.length,
    handlers: [...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith("on")),
    strangers: [...document.querySelectorAll("article .stranger")].map((one) => getComputedStyle(one).unicodeBidi),
    text: document.body.textContent + [...document.querySelectorAll("[title]")].map((one) => one.title).join(""),
  }));
  assert.equal(seen.ran, false);
  assert.deepEqual(seen.scripts, ["/assets/copy.js"]);
  assert.equal(seen.images, 0);
  assert.deepEqual(seen.handlers, []);
  assert.deepEqual(seen.strangers.filter((bidi) => bidi !== "isolate"), []);
  const turned = seen.text.match(/.{0,30}[\u200b-\u200f\u202a-\u202e\u2066-\u2069].{0,30}/g) ?? [];
  assert.deepEqual(turned, [], "nothing turns the writing around or hides in it");
  assert.ok(seen.text.length < 100_000, "a megabyte is cut");
}
