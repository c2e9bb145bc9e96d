// What taxon leaves to a person: the queue, the person's own reading, and the CSV that holds both.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { demo, enter, eventually, read, startBrowser, startService, visitor } from "./lib.mjs";

test("the review queue", async (t) => {
  const service = await startService(t);
  const browser = await startBrowser(t);
  const page = await visitor(t, browser, service);
  const { hash } = demo("forged_swap");
  await enter(page);
  await page.goto("/review");
  await page.getByText("Nothing waits for you.").waitFor();

  await read(page, hash);
  await page.getByRole("heading", { level: 1, name: "A person must look" }).waitFor();
  await eventually("it waits", async () => {
    await page.goto("/review");
    return (await page.getByRole("article").count()) === 1;
  });
  const item = page.getByRole("article");
  assert.doesNotMatch(await item.innerText(), /`/, "what stands in backticks is code");
  const comment = '=1+1, "theft", <b>reported</b>';
  await item.getByLabel("Your category").selectOption("loss");
  await item.getByLabel("Comment").fill(comment);
  await item.getByRole("button", { name: "Mark as reviewed" }).click();
  await page.getByText("Nothing waits for you.").waitFor();

  await page.getByRole("link", { name: "Show what is done" }).click();
  assert.match(await item.innerText(), /Reviewed .* as loss: =1\+1, "theft", <b>reported<\/b>/);
  await item.getByRole("heading").getByRole("link").click();
  await page.getByText("You read it as loss").waitFor();
  await page.getByRole("heading", { level: 1, name: "A person must look" }).waitFor();

  await page.goto("/usage");
  const started = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download as CSV" }).click();
  const csv = await readFile(await (await started).path(), "utf8");
  const [head, row, ...rest] = csv.split("\r\n");
  assert.match(head, /hash,.*reviewed_category,review_comment/);
  assert.ok(row.includes(hash) && row.includes("loss"), row);
  assert.ok(row.includes(`"'=1+1, ""theft"", <b>reported</b>"`), row);
  assert.deepEqual(rest, [""]);

  await page.getByLabel("Find").fill("forged");
  await page.getByLabel("only for review").check();
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL(/review=yes/);

  await page.goto("/review?done=yes");
  await item.getByRole("button", { name: "Open it again" }).click();
  await page.waitForURL(/\/review$/);
  assert.equal(await item.count(), 1);

  const other = await visitor(t, browser, service);
  await enter(other);
  await other.goto("/review?done=yes");
  assert.equal(await other.getByRole("article").count(), 0);
  await other.goto(`/reading/${hash}`);
  assert.equal(await other.getByText("You read it as").count(), 0);
});
