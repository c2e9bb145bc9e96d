// Pages for whoever is signed in, with something in every corner.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "./inspect.mjs";
import { becomeOperator, classify, createKey, demo, enter, eventually, startBrowser, startService, visitor } from "./lib.mjs";

const TRANSACTIONS = [
  "weth_wrap", "aave_borrow", "v3_swap_eth_in", "balancer_join", "approval", "plain_transfer", "fork_v2_swap", "forged_swap", "forged_supply",
];
const PAGES = {
  "account": "/account",
  "usage": "/usage",
  "readings": "/readings",
  "books": "/books",
  "review": "/review",
  "webhooks": "/webhooks",
  "operator": "/operator",
};
const MINOR = {
  "home-signed-in": "/",
  "account-delete": "/account/delete",
};

test("pages of one's own", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const other = await visitor(t, browser, service);
  await enter(other, "a-rather-long-name-of-somebody-else@accounting.example.com");
  await createKey(other, "books");
  const page = await visitor(t, browser, service, { refusals: [404] });
  await t.test("link", () => inspect(page, "link", service.link, { isMain: false }));
  await becomeOperator(page, service);
  await fill(page, service);
  const webhook = await addWebhook(page);
  for (const [name, path] of Object.entries({ ...PAGES, ...MINOR })) {
    await t.test(name, () => inspect(page, name, path, { isMain: name in PAGES }));
  }
  await t.test("webhook", () => inspect(page, "webhook", webhook));
  await t.test("webhook-remove", () => inspect(page, "webhook-remove", `${webhook}/remove`, { isMain: false }));
  await t.test("a page that is not there still knows who looks", async () => {
    await page.goto("/account/keys/nothing/revoke");
    await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
  });
});

// Nothing is sent there: no pool runs low here.
async function addWebhook(page) {
  await page.goto("/webhooks");
  await page.getByLabel("Address that takes the messages").fill(`https://1.1.1.1/hooks/${"quite-a-long-path/".repeat(6)}`);
  for (const box of await page.getByRole("checkbox").all()) await box.uncheck();
  await page.getByLabel("quota.low").check();
  await page.getByRole("button", { name: "Add webhook" }).click();
  await page.getByText("This is the secret.").waitFor();
  await page.getByRole("link", { name: "All webhooks" }).click();
  return page.getByRole("link", { name: "https://1.1.1.1/hooks" }).getAttribute("href");
}

async function fill(page, service) {
  const key = await createKey(page, "ledger import of the Hamburg office, second try");
  await createKey(page, "");
  const lost = await createKey(page, "lost with the laptop");
  await page.goto(`/account/keys/${lost.split("_")[1]}/revoke`);
  await page.getByRole("button", { name: "Revoke it" }).click();
  for (const name of TRANSACTIONS) {
    assert.equal((await classify(service, key, demo(name).hash)).status, 200);
  }
  const rows = page.locator("table tbody tr");
  await eventually("the queue is there", async () => {
    await page.goto("/review");
    return (await rows.count()) > 1;
  });
  await page.locator("table input[type=checkbox]").first().check();
  const form = page.getByRole("group", { name: "With the chosen rows" });
  await form.locator("select[name=category]").selectOption("airdrop");
  await form.getByLabel("Comment").fill("Asked the client on the telephone; the sender is unknown to them.");
  await form.getByRole("button", { name: "Decide", exact: true }).click();
  await page.getByRole("link", { name: "Decided 1" }).waitFor();
}
