// From the first page to a key, to a reading, to the end of that key.
import assert from "node:assert/strict";
import { test } from "node:test";
import { examine } from "./inspect.mjs";
import { classify, createKey, demo, enter, eventually, signIn, someone, startBrowser, startService, visitor } from "./lib.mjs";

test("a newcomer", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);

  await t.test("signs up, makes a key, uses it, sees the usage move, revokes it and is refused", async (t) => {
    const page = await visitor(t, browser, service);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.url });
    const email = someone();
    await page.goto("/");
    await page.getByRole("navigation").getByRole("link", { name: "Sign up" }).click();
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill("four plain words here");
    await page.getByRole("button", { name: "Make the account" }).click();
    assert.match(await page.getByRole("alert").innerText(), /Sign in with it/);
    await signIn(page, email);

    const key = await createKey(page, "ledger import");
    assert.match(key, /^txn_/);
    await examine(page, "account-new-key");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("status").getByText("Copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    await page.goto("/account");
    assert.ok(!(await page.content()).includes(key), "a key is shown once");
    const row = page.getByRole("row").filter({ hasText: key.slice(0, key.lastIndexOf("_")) });
    assert.match(await row.innerText(), /never/);

    await page.goto("/usage");
    assert.match(await page.locator(".pool").innerText(), /^0 of/);
    const swap = demo("v2_swap_tokens");
    const answer = await classify(service, key, swap.hash);
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).category, "swap");
    await page.goto("/usage");
    assert.match(await page.locator(".pool").innerText(), /^1 of/);
    await eventually("the readings show it", async () => {
      await page.goto("/readings");
      return (await page.locator(".wide tbody tr").count()) > 0;
    });
    assert.match(await page.getByRole("row").filter({ hasText: /swap/i }).innerText(), /disposal/i);

    await page.goto("/account");
    await eventually("the key's last use is shown", async () => {
      await page.reload();
      return !(await row.innerText()).includes("never");
    }, 15_000);
    const used = Date.parse(await row.locator("time").nth(1).getAttribute("datetime"));
    assert.ok(Math.abs(Date.now() - used) < 600_000, `last used: ${await row.innerText()}`);
    await row.getByRole("link", { name: "Revoke" }).click();
    await examine(page, "account-revoke");
    await page.getByRole("button", { name: "Revoke it" }).click();
    await page.waitForURL("**/account");
    assert.match(await row.innerText(), /revoked/);
    await eventually("the key is refused", async () => (await classify(service, key, swap.hash)).status === 401, 2_000);
  });

  await t.test("is told when a name or a password does not fit, and never which of the two", async (t) => {
    const page = await visitor(t, browser, service);
    const email = await enter(page);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.waitForURL(`${service.url}/`);
    for (const [who, password] of [[email, "not the password"], [someone(), "not the password"]]) {
      await page.goto("/sign-in");
      await page.getByLabel("E-mail").fill(who);
      await page.getByLabel("Password").fill(password);
      await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
      assert.equal(await page.getByRole("alert").innerText(), "The e-mail or the password is wrong.");
    }
    await page.goto("/account");
    assert.match(page.url(), /\/sign-in$/);
  });
});
