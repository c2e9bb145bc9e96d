// What every page must be: light of weight, never wider than the screen, accessible in light and dark; and kept as pictures.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { PHONE, root, WIDE } from "./lib.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGE_BYTES_MAX = 60 * 1024;
const DRAWN_TEXT_PIXELS_MIN = 10;
const NARROWEST = { width: 360, height: 740 };
const ALL = [
  { scheme: "light", size: "wide", viewport: WIDE },
  { scheme: "light", size: "phone", viewport: PHONE },
  { scheme: "dark", size: "wide", viewport: WIDE },
  { scheme: "dark", size: "phone", viewport: PHONE },
];
/** Each scheme and each size once: what axe finds in the other two pairs is the same, and minor pages are not pictured in them. */
const isFirst = ({ scheme, size }) => (scheme === "light") === (size === "wide");

/** Opens the page and looks at it. A main page is pictured in every dress. */
export async function inspect(page, name, path, { isMain = true } = {}) {
  const bytes = await weight(page, path);
  await examine(page, name, { isMain });
  assert.ok(bytes < PAGE_BYTES_MAX, `it takes ${bytes} bytes`);
}

/** Looks at the page that stands there. It tells all faults at once, so that the pictures are complete when it fails. */
export async function examine(page, name, { isMain = false } = {}) {
  const faults = [];
  await page.setViewportSize(NARROWEST);
  faults.push(...(await tooWide(page)), ...(await unreadable(page)));
  for (const dress of ALL.filter((one) => isMain || isFirst(one))) {
    await page.setViewportSize(dress.viewport);
    await page.emulateMedia({ colorScheme: dress.scheme });
    await picture(page, `${name}.${dress.scheme}.${dress.size}`);
    if (isFirst(dress)) {
      const found = [...(await inaccessible(page)), ...(await unreadable(page))];
      faults.push(...found.map((fault) => `${dress.scheme}, ${dress.size}: ${fault}`));
    }
  }
  assert.deepEqual(faults, [], page.url());
}

/** The whole page, as `target/screenshots/reading-swap.dark.phone.png`. */
const picture = (page, name) =>
  page.screenshot({ path: fileURLToPath(new URL(`target/screenshots/${name}.png`, root)), fullPage: true });

/** Bytes that a first visit takes: the document and what it loads, as they come over the wire. */
async function weight(page, path) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(path, { waitUntil: "load" });
  // The answer to this comes after the events that are still under way.
  await session.send("Network.disable");
  await session.detach();
  return bytes;
}

/** What reaches past the right edge of the screen and is not within something that scrolls by itself. */
const tooWide = (page) =>
  page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const right = (one) => Math.round(one.getBoundingClientRect().right);
    return [...document.body.querySelectorAll("*")]
      .filter((one) => right(one) > clientWidth && !one.closest(".wide, pre"))
      .map((one) => `${one.tagName.toLowerCase()}.${one.getAttribute("class")} reaches to ${right(one)} px`)
      .concat(`it is ${scrollWidth} px wide on a screen of ${clientWidth}`);
  });

/** Words that are there and cannot be read: drawn too small, or a date broken over lines. */
const unreadable = (page) =>
  page.evaluate((least) => {
    const drawn = [...document.querySelectorAll("svg text")].map((text) => [text, text.getBoundingClientRect()]);
    const small = drawn.filter(([, box]) => box.width > 0 && box.height < least).map(([text]) => `too small: ${text.textContent}`);
    const broken = [...document.querySelectorAll("td time")].filter((time) => time.getClientRects().length > 1);
    return [...small, ...broken.map((time) => `broken over lines: ${time.textContent}`)];
  }, DRAWN_TEXT_PIXELS_MIN);

/** Words of the flow picture that its inner pictures cut off. A hostile name may be; one that somebody uses must end in an ellipsis. */
export const cutOff = (page) =>
  page.evaluate(() => {
    const isCut = (text) => {
      const frame = text.closest("svg svg");
      const box = text.getBoundingClientRect();
      if (!frame || box.width === 0) return false;
      const { a: scale, e: start } = frame.parentNode.getScreenCTM();
      const left = start + frame.x.baseVal.value * scale;
      return box.left < left - 1 || box.right > left + frame.width.baseVal.value * scale + 1;
    };
    return [...document.querySelectorAll("svg text")].filter(isCut).map((text) => text.textContent);
  });

/** What axe finds serious, each with the first place where it is. */
async function inaccessible(page) {
  // Half a megabyte of script; a page that is looked at again has it already.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, impact, nodes }) => `${impact} ${id}, ${nodes.length} times: ${nodes[0].html} ${nodes[0].failureSummary}`);
}
