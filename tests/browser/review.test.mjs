// What taxon leaves to a person: the table, decisions in bulk and by keyboard, a rule for all that are alike, and a second person.
import assert from "node:assert/strict";
import { test } from "node:test";
import { examine, inspect } from "./inspect.mjs";
import { demo, enter, eventually, read, startBrowser, startService, visitor } from "./lib.mjs";

test("the review table", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const page = await visitor(t, browser, service);
  const hashes = ["forged_swap", "userop_bundle_of_two"].map((name) => demo(name).hash);
  await enter(page);
  await page.goto("/review");
  await page.getByText("Nothing here waits for a person.").waitFor();

  for (const hash of hashes) await read(page, hash);
  await page.getByRole("heading", { level: 1, name: "A person must look" }).waitFor();
  const rows = page.locator("table tbody tr");
  await eventually("both wait", async () => {
    await page.goto("/review");
    return (await rows.count()) === 2;
  });
  const table = page.url();
  await t.test("by axe", () => inspect(page, "review-table", new URL(table).pathname));

  await t.test("sorted and filtered by its address", async () => {
    await page.goto(table);
    await page.getByRole("columnheader", { name: "Wallet" }).getByRole("link").click();
    await page.waitForURL(/sort=wallet/);
    assert.equal(await page.getByRole("columnheader", { name: /^Wallet/ }).getAttribute("aria-sort"), "ascending");
    await page.getByLabel("In the hash").fill(hashes[0].slice(4, 24));
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/find=.*sort=wallet|sort=wallet.*find=/);
    assert.equal(await rows.count(), 1);
  });

  await t.test("decided by keyboard alone", async () => {
    await page.goto(table);
    await page.locator("table input[type=checkbox]").first().focus();
    await page.keyboard.press("Space");
    assert.equal(await page.locator("table input:checked").count(), 1);
    const category = page.getByRole("group", { name: "With the chosen rows" }).locator("select[name=category]");
    await category.focus();
    await page.keyboard.type("airdrop");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type('=1+1, "theft", <b>reported</b>');
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Decided 1" }).waitFor();
    assert.equal(await rows.count(), 1, "one is left");
  });

  await page.getByRole("link", { name: /^Decided/ }).click();
  await page.waitForURL(/state=decided/);
  assert.match(await rows.innerText(), /Airdrop[\s\S]*=1\+1, "theft", <b>reported<\/b>/);
  await rows.getByRole("link").click();
  await page.getByText("Decided as airdrop").waitFor();
  await page.getByRole("link", { name: "The decision" }).click();
  await page.locator("table input[type=checkbox]").check();
  await page.getByRole("button", { name: "Undo the decision" }).click();
  await page.waitForURL(/state=all/);
  await page.goto(table);
  assert.equal(await rows.count(), 2, "undone in one step");

  await page.locator("table input[type=checkbox]").first().check();
  await page.getByRole("group", { name: "With the chosen rows" }).locator("select[name=category]").selectOption("airdrop");
  await page.getByRole("button", { name: "Decide all like this…" }).click();
  await page.getByRole("heading", { name: "Decide all like this" }).waitFor();
  await page.getByRole("button", { name: "Decide all of them" }).click();
  await page.waitForURL(table);
  assert.equal(await rows.count(), 1);
  await page.getByRole("link", { name: "Rules", exact: true }).click();
  await page.getByRole("button", { name: "Take back" }).click();
  await page.getByText("None yet").waitFor();

  await page.goto(table);
  await page.getByRole("link", { name: "Log", exact: true }).click();
  await page.getByRole("heading", { name: "Log of decisions" }).waitFor();
  assert.equal(await rows.count(), 4, "two decisions, both undone");
  await t.test("the log by axe", () => examine(page, "decision-log"));

  const other = await visitor(t, browser, service, { refusals: [404] });
  await enter(other);
  await other.goto(table);
  await other.getByRole("heading", { name: "That did not work" }).waitFor();
  await other.goto(`/reading/${hashes[0]}`);
  assert.equal(await other.getByText("Decided as").count(), 0);
});
