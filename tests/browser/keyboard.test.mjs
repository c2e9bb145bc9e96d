// Everything by keyboard alone, with the focus in sight at every stop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { demo, enter, PASSWORD, startBrowser, startService, visitor } from "./lib.mjs";

const STOPS_MAX = 60;

test("by keyboard only", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);

  await t.test("from the first page to a reading, and through the doors to a key", async (t) => {
    const page = await visitor(t, browser, service);
    const email = await enter(await visitor(t, browser, service));
    await page.goto("/");
    assert.equal((await focus(page)).name, "Transaction hashes or links", "one can paste at once");
    await page.keyboard.type(demo("v2_liquidity_add").hash);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "A taxable disposal" }).waitFor();

    await page.keyboard.press("Tab");
    assert.equal((await focus(page)).name, "Skip to the content");
    assert.ok((await focus(page)).isInSight, "the skip link comes into sight");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.ok((await focus(page)).isInMain, "the skip link skips the navigation");
    await tabTo(page, "Entering and leaving liquidity pools");
    await page.keyboard.press("ArrowDown");
    await page.getByRole("heading", { level: 1, name: /^Not taxable/ }).waitFor();

    await tabTo(page, "Sign in");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal((await focus(page)).name, "E-mail");
    await page.keyboard.type(email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Account settings" }).waitFor();

    await tabTo(page, "Name of a new key");
    await page.keyboard.type("typed");
    await tabTo(page, "Create key");
    await page.keyboard.press("Enter");
    await page.locator("#new-key").waitFor();
    await tabTo(page, "Revoke");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Revoke a key" }).waitFor();
    await tabTo(page, "Revoke it");
    await page.keyboard.press("Enter");
    await page.getByText("revoked").waitFor();
  });

  await t.test("the focus walks once around every page, always in sight", async (t) => {
    const page = await visitor(t, browser, service);
    await enter(page);
    for (const path of ["/", "/account", "/jobs", "/books", "/readings", "/review", "/usage", "/docs"]) {
      await page.goto(path);
      const stops = new Set();
      for (let stop = 0; stop < STOPS_MAX; stop += 1) {
        await page.keyboard.press("Tab");
        const { name, isMarked, isInSight, isOnPage } = await focus(page);
        if (!isOnPage) break;
        assert.ok(isMarked && isInSight, `${path}: the focus on ${name} cannot be seen`);
        stops.add(name);
      }
      assert.ok(stops.size > 3, `${path}: ${[...stops]}`);
    }
  });
});

/** Presses Tab until the focus is on what has this name, and sees it at every stop. */
async function tabTo(page, wanted) {
  const stops = [];
  for (let stop = 0; stop < STOPS_MAX; stop += 1) {
    await page.keyboard.press("Tab");
    const { name, isMarked, isInSight, isOnPage } = await focus(page);
    if (!isOnPage) continue;
    assert.ok(isMarked && isInSight, `the focus on ${name} cannot be seen`);
    if (name === wanted) return;
    stops.push(name);
  }
  assert.fail(`no ${wanted} among ${stops.join(", ")}`);
}

/** Where the focus is, and whether one can see that it is there. */
const focus = (page) =>
  page.evaluate(() => {
    const one = document.activeElement;
    const own = (label) => [...label.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("");
    const name = one.getAttribute("aria-label") ?? (one.labels?.length ? own(one.labels[0]) : one.textContent);
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    return {
      name: name.trim(),
      isOnPage: one !== document.body,
      isInMain: document.querySelector("main").contains(one),
      isMarked: style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) >= 1,
      isInSight: box.width > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight,
    };
  });
