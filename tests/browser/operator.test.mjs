// Whoever operates the service: the first link, sign-up, tiers, keys.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PASSWORD, becomeOperator, classify, confirm, createKey, demo, enter, eventually, someone, startBrowser, startService, visitor } from "./lib.mjs";

test("the operator", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const operator = await visitor(t, browser, service);
  const stranger = await visitor(t, browser, service, { refusals: [403, 404] });

  const email = await enter(stranger);
  await stranger.goto("/operator");
  await stranger.getByText("There is no such page.").waitFor();
  assert.equal(await stranger.getByRole("link", { name: "Operator" }).count(), 0);

  await becomeOperator(operator, service);
  await stranger.goto(service.link);
  await stranger.getByText("There is no such page.").waitFor();

  await operator.getByRole("link", { name: "Operator" }).click();
  const row = operator.getByRole("row").filter({ hasText: email });
  await row.getByText("Confirm the address first").waitFor();
  await confirm(stranger, service, email);
  const key = await createKey(stranger, "theirs");
  await operator.reload();
  await row.getByLabel(`Tier of ${email}`).selectOption("dev");
  await row.getByLabel(`Pool of ${email}`).fill("777");
  await row.getByRole("button", { name: "Set" }).click();
  await operator.waitForURL("**/operator");
  assert.equal(await row.getByLabel(`Pool of ${email}`).inputValue(), "777");
  await eventually("the pool is set", async () => {
    await stranger.goto("/usage");
    return /^0 of 777 used/.test(await stranger.locator(".pool").innerText());
  });

  assert.equal((await classify(service, key, demo("v2_swap_tokens").hash)).status, 200);
  await row.getByRole("button", { name: "Revoke all keys" }).click();
  await row.getByRole("button", { name: "Revoke all keys", disabled: true }).waitFor();
  await eventually("the key is refused", async () => (await classify(service, key, demo("v2_swap_tokens").hash)).status === 401, 2_000);

  await operator.getByRole("button", { name: "Switch it off" }).click();
  await operator.getByText("Sign-up is off.").waitFor();
  const late = await visitor(t, browser, service, { refusals: [403] });
  await late.goto("/sign-up");
  await late.getByText("Sign-up is off on this service.").waitFor();
  const nobody = someone();
  if ((await late.getByLabel("E-mail").count()) > 0) {
    await late.getByLabel("E-mail").fill(nobody);
    await late.getByLabel("Password").fill(PASSWORD);
    await late.getByRole("button", { name: "Make the account" }).click();
    await late.getByText("Sign-up is off on this service.").waitFor();
  }
  await operator.reload();
  assert.equal(await operator.getByRole("row").filter({ hasText: nobody }).count(), 0);
  await operator.getByRole("button", { name: "Switch it on" }).click();
  await operator.getByText("Sign-up is on.").waitFor();
  await enter(late);
});
