// A browser that runs no script: everything works but copying, and a policy is switched by a button (reading.test.mjs).
import assert from "node:assert/strict";
import { test } from "node:test";
import { classify, createKey, demo, enter, eventually, PASSWORD, read, signIn, startBrowser, startService, visitor } from "./lib.mjs";

test("without script", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const page = await visitor(t, browser, service, { javaScriptEnabled: false });
  const email = await enter(page);

  const key = await createKey(page, "old name");
  // A button that does nothing is not shown.
  await page.locator("[data-copy]").waitFor({ state: "hidden" });
  const named = page.getByLabel(/^Name of key/);
  await named.fill("new <name>");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.waitForURL("**/account");
  assert.equal(await named.inputValue(), "new <name>");
  assert.equal((await classify(service, key, demo("v2_swap_tokens").hash)).status, 200);

  await read(page, demo("forged_swap").hash);
  await eventually("it waits", async () => {
    await page.goto("/review");
    return (await page.locator("table tbody tr").count()) === 1;
  });
  await page.locator("table input[type=checkbox]").check();
  await page.getByRole("group", { name: "With the chosen rows" }).locator("select[name=category]").selectOption("airdrop");
  await page.getByRole("button", { name: "Decide", exact: true }).click();
  await page.getByText("Nothing here waits for a person.").waitFor();
  await page.goto("/readings");
  await page.getByLabel("Find").fill("swap");
  await page.getByRole("button", { name: "Filter" }).click();
  assert.equal(await page.locator(".wide tbody tr").count(), 1);
  await page.goto("/usage");
  assert.equal(await page.locator(".chart").count(), 1);

  await page.goto("/account");
  await page.getByRole("link", { name: "Revoke", exact: true }).click();
  await page.getByRole("link", { name: "Keep it" }).click();
  assert.equal((await classify(service, key, demo("v2_swap_tokens").hash)).status, 200);

  const elsewhere = await visitor(t, browser, service, { javaScriptEnabled: false });
  await elsewhere.goto("/sign-in");
  await signIn(elsewhere, email);
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await page.waitForURL(`${service.url}/`);
  await elsewhere.goto("/account");
  assert.match(elsewhere.url(), /\/sign-in$/);

  await page.goto("/sign-in");
  await signIn(page, email);
  const changed = "another five plain words here";
  await page.getByLabel("Password now").fill(PASSWORD);
  await page.getByLabel("New password").fill(changed);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Account settings" }).waitFor();

  // Five tries at one account's password are all that a minute allows; this is the last.
  await page.getByRole("link", { name: "Delete this account" }).click();
  await page.getByLabel("Password").fill(changed);
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.waitForURL(`${service.url}/`);
  await page.getByRole("navigation").getByRole("link", { name: "Sign up" }).waitFor();
  await eventually("the key is refused", async () => (await classify(service, key, demo("v2_swap_tokens").hash)).status === 401, 2_000);
});
