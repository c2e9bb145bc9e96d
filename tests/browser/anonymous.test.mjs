// Try it, without an account, until the pool of the day is gone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { examine } from "./inspect.mjs";
import { demo, read, startBrowser, startService, visitor } from "./lib.mjs";

const POOL = 3;

test("a stranger reads until the pool is gone", async (t) => {
  const service = await startService(t, { TAXON_POOL_ANON: String(POOL) });
  const browser = await startBrowser(t);
  const page = await visitor(t, browser, service, { refusals: [402, 429] });
  const left = async () => {
    await page.goto("/");
    return page.getByText(`of ${POOL} left today`).innerText();
  };
  const swaps = ["v2_swap_tokens", "v2_swap_eth_in", "v2_swap_eth_out"].map(demo);

  await page.goto("/");
  await page.getByRole("button", { name: "Liquidity added" }).click();
  await page.getByRole("heading", { level: 1, name: "A taxable disposal" }).waitFor();
  assert.match(await left(), /^2 of 3/);
  await page.getByRole("button", { name: "Liquidity added" }).click();
  await page.waitForURL(/\/reading\//);
  assert.match(await left(), /^2 of 3/, "a repeat costs nothing");
  await read(page, demo("approval").hash);
  assert.match(await left(), /^2 of 3/, "an approval costs nothing");
  await read(page, swaps[0].hash);
  const seen = page.url();
  await read(page, swaps[1].hash);
  assert.match(await left(), /^0 of 3/);

  await page.getByLabel("Transaction hash").fill(swaps[2].hash);
  await page.getByRole("button", { name: "Read it" }).click();
  const said = page.getByRole("alert");
  assert.match(await said.innerText(), /pool|quota/i);
  assert.equal(await page.getByLabel("Transaction hash").inputValue(), swaps[2].hash, "what was pasted is still there");
  await examine(page, "home-pool-gone");

  await page.goto(seen);
  await page.getByRole("heading", { level: 1, name: "A taxable disposal" }).waitFor();

  await page.goto("/");
  await page.getByLabel("Transaction hash").fill(swaps[2].hash);
  await page.getByRole("button", { name: "Read it" }).click();
  await page.getByRole("main").getByRole("link", { name: "sign up" }).click();
  await page.getByRole("heading", { level: 1, name: "Sign up" }).waitFor();

  const other = await visitor(t, browser, service);
  await other.goto("/");
  await other.getByText("3 of 3 left today").waitFor();
});
