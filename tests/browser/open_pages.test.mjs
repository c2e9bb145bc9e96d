// Pages for anybody.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "./inspect.mjs";
import { startBrowser, startService, visitor } from "./lib.mjs";

const PAGES = {
  "home": "/",
  "sign-in": "/sign-in",
  "docs": "/docs",
};
const MINOR = {
  "sign-up": "/sign-up",
  "docs-quickstart": "/docs/quickstart",
  "not-there": "/reading/nothing",
};

test("pages for anybody", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const page = await visitor(t, browser, service, { refusals: [404, 405] });
  for (const [name, path] of Object.entries({ ...PAGES, ...MINOR })) {
    await t.test(name, () => inspect(page, name, path, { isMain: name in PAGES }));
  }
  await t.test("the documentation leads back to the first page", async () => {
    await page.goto("/docs");
    assert.ok(await page.locator('header a[href="/"]').count());
  });
  await t.test("an address that only takes forms is still a page", async () => {
    for (const path of ["/try", "/account/keys"]) {
      await page.goto(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
  });
});
