// A table in a real browser, from the upload to the download: with script its progress moves by itself, without it by a link.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { examine, inspect } from "./inspect.mjs";
import { createKey, enter, PHONE, root, startBrowser, startService, visitor } from "./lib.mjs";

const WALLET = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const TABLE = await readFile(new URL("demo/demo.csv", root), "utf8");
const COUNT = TABLE.trim().split("\n").length - 1;
/** A row that the node could not answer for is asked for again after 5, 10, 20 and 40 seconds. */
const FINISHED_MILLIS_MAX = 90_000;

test("a table", async (t) => {
  const node = await startNode(t);
  const service = await startService(t, { TAXON_RPC_ETHEREUM: node.url, TAXON_EXPLORER_ETHEREUM: node.url });
  const browser = await startBrowser(t);

  await t.test("is uploaded, moves by itself to its end, and is downloaded", async (t) => {
    const page = await visitor(t, browser, service);
    await enter(page);
    const key = await createKey(page, "");
    await page.getByRole("navigation").getByRole("link", { name: "Jobs" }).click();
    await page.getByLabel("Name (the file's").fill("Hamburg office, 2024");
    await upload(page, "2024.csv", `${TABLE}${unknown(1)}\nnot a hash,demo\n`);
    await page.getByRole("heading", { level: 1, name: "Hamburg office, 2024" }).waitFor();
    await page.getByText(`The first 10 of ${COUNT + 1}.`).waitFor();
    assert.equal(await page.getByRole("progressbar").count(), 0);
    await inspect(page, "job-ready", new URL(page.url()).pathname, { isMain: false });
    await start(page);
    await page.evaluate(() => {
      window.isSame = true;
    });
    const progress = page.getByRole("progressbar", { name: "Rows done" });
    await page.getByText(`${COUNT} of ${COUNT + 1}`).waitFor();
    assert.equal(await progress.evaluate((bar) => bar.value), COUNT);
    await page.getByText("Being read").waitFor();

    // The part that is replaced keeps the focus.
    await page.getByRole("link", { name: "Cancel this job" }).focus();
    const before = await page.locator("#progress").elementHandle();
    await page.waitForFunction((old) => !old.isConnected, before);
    assert.equal(await page.evaluate(() => document.activeElement.id), "cancel");

    node.answers = true;
    await page.getByRole("status").getByText("Finished").waitFor({ timeout: FINISHED_MILLIS_MAX });
    await page.getByText(`${COUNT + 1} of ${COUNT + 1}`).waitFor();
    await page.getByText("1 failed").waitFor();
    assert.equal(await page.getByRole("link", { name: "Cancel this job" }).count(), 0);
    assert.ok(await page.evaluate(() => window.isSame), "without loading the page again");
    await page.getByRole("cell", { name: "not a hash is no hash of a transaction" }).waitFor();

    const path = new URL(page.url()).pathname;
    for (const format of ["csv", "koinly", "beancount"]) {
      const response = await fetch(`${service.url}/v1${path}/results?format=${format}`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(await download(page, format), await response.text(), format);
    }
    const paper = await page.context().newPage();
    await paper.setContent(await download(page, "report"));
    await paper.getByRole("heading", { name: "Every transaction" }).waitFor();
    await examine(paper, "report");
    await paper.close();
    await inspect(page, "job", path);
    await inspect(page, "job-results", `${path}/rows`);
    await inspect(page, "jobs", "/jobs");
  });

  await t.test("that is not understood says why, and what was typed stays", async (t) => {
    const page = await visitor(t, browser, service, { refusals: [400] });
    await enter(page);
    await page.goto("/jobs");
    await page.getByLabel("Name (the file's").fill("typed");
    await page.getByText("Chain, wallets and column").click();
    await page.getByLabel("Column that holds the hashes").fill("proof");
    await upload(page, "2024.csv", TABLE);
    await page.getByRole("alert").getByText("The table has no column `proof`; the columns are: hash, chain.").waitFor();
    assert.equal(await page.getByLabel("Name (the file's").inputValue(), "typed");
    assert.equal(await page.getByLabel("Column that holds the hashes").inputValue(), "proof");
    await examine(page, "jobs-refused");
  });

  await t.test("is cancelled, after a question, with the keyboard", async (t) => {
    node.answers = false;
    const page = await visitor(t, browser, service);
    await enter(page);
    await page.goto("/jobs");
    await upload(page, "2024.csv", `${TABLE}${unknown(2)}\n`);
    await page.getByRole("button", { name: "Start reading" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText(`${COUNT} of ${COUNT + 1}`).waitFor();
    await inspect(page, "job-open", new URL(page.url()).pathname, { isMain: false });
    await page.getByRole("link", { name: "Cancel this job" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Cancel a job" }).waitFor();
    await examine(page, "job-cancel");
    await page.getByRole("button", { name: "Cancel it" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("#progress").getByText("Cancelled").waitFor();
    await page.getByRole("link", { name: "All jobs" }).click();
    await page.getByRole("listitem").getByText("Cancelled").waitFor();
  });

  await t.test("needs no script, on a phone", async (t) => {
    const page = await visitor(t, browser, service, { javaScriptEnabled: false, viewport: PHONE });
    await enter(page);
    await page.goto("/jobs");
    await upload(page, "2024.csv", TABLE);
    await start(page);
    const finished = page.locator("#progress").getByText("Finished");
    const again = page.getByRole("link", { name: "Look again how far it is" });
    const end = Date.now() + FINISHED_MILLIS_MAX;
    while ((await finished.count()) === 0 && Date.now() < end) {
      await finished.or(again).first().waitFor();
      if (await again.count()) await again.click();
    }
    await finished.waitFor();
    assert.ok((await download(page, "csv")).split("\n").length > COUNT);

    // A row that needed nobody, found by a filter and decided.
    await page.getByRole("link", { name: "Results" }).click();
    await page.getByRole("link", { name: "Read by itself" }).click();
    await page.locator("form.filters select[name=category]").selectOption("swap");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/state=read.*category=swap/);
    const rows = page.locator("table tbody tr");
    const before = await rows.count();
    assert.ok(before > 0);
    await page.locator("table input[type=checkbox]").first().check();
    await page.getByRole("group", { name: "With the chosen rows" }).locator("select[name=category]").selectOption("airdrop");
    await page.getByRole("button", { name: "Decide", exact: true }).click();
    await page.getByRole("link", { name: "Decided" }).click();
    assert.match(await rows.innerText(), /Swap[\s\S]*Airdrop/);
    await page.getByRole("link", { name: "Its book" }).click();
    await page.getByRole("link", { name: "Log", exact: true }).click();
    await page.getByRole("heading", { name: "Log of decisions" }).waitFor();
    assert.equal(await rows.count(), 1);
  });
});

test("wallets", async (t) => {
  const node = await startNode(t);
  const service = await startService(t, { TAXON_RPC_ETHEREUM: node.url, TAXON_EXPLORER_ETHEREUM: node.url });
  const browser = await startBrowser(t);

  await t.test("are looked up, and what was found comes by itself", async (t) => {
    const page = await visitor(t, browser, service);
    await enter(page);
    await page.goto("/jobs");
    await page.getByLabel("Wallets, one a line").fill(WALLET);
    await page.getByLabel("First day").fill("2024-01-01");
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByText("Looking up").waitFor();
    await page.evaluate(() => {
      window.isSame = true;
    });
    node.lists = true;
    await page.locator("#progress").getByText("Ready to start").waitFor();
    await page.getByText("1 transaction; none is read").waitFor();
    await page.getByRole("cell", { name: WALLET }).first().waitFor();
    assert.ok(await page.evaluate(() => window.isSame), "without loading the page again");
    await inspect(page, "job-found", new URL(page.url()).pathname, { isMain: false });
    await start(page);
  });
});

/** A row that no chain has. */
const unknown = (number) => `0x${number.toString(16).padStart(64, "f")},`;

async function upload(page, name, text) {
  await page.getByLabel("Table", { exact: true }).setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.getByRole("button", { name: "Upload", exact: true }).click();
}

/** What was understood is seen, and it is started. */
async function start(page) {
  await page.locator("#progress").getByText("Ready to start").waitFor();
  await page.getByRole("button", { name: "Start reading" }).click();
  await page.getByRole("heading", { name: "Downloads" }).waitFor();
}

async function download(page, format) {
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: format, exact: true }).click();
  const file = await coming;
  assert.match(file.suggestedFilename(), /^job_\w+\.\w+$/);
  return readFile(await file.path(), "utf8");
}

/** A node that is out of order, until it answers that it knows no transaction; and an explorer, which takes its time until it lists one. */
async function startNode(t) {
  const node = { answers: false, lists: false };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    if (request.method === "GET") {
      while (!node.lists && !response.destroyed) await setTimeout(100);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(listed(new URL(request.url, "http://node").searchParams)));
      return;
    }
    const asked = JSON.parse(body);
    const answer = ({ id, method }) => ({ jsonrpc: "2.0", id, result: { eth_chainId: "0x1", eth_blockNumber: "0xffff" }[method] ?? null });
    response.statusCode = node.answers ? 200 : 503;
    response.setHeader("content-type", "application/json");
    response.end(node.answers ? JSON.stringify(Array.isArray(asked) ? asked.map(answer) : answer(asked)) : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  node.url = `http://127.0.0.1:${server.address().port}`;
  return node;
}

/** One page of one list, in the form of Etherscan. */
function listed(asked) {
  const row = { blockNumber: "1", timeStamp: "1704067200", hash: `0x${"ab".repeat(32)}` };
  if (asked.get("action") === "getblocknobytime") return { status: "1", message: "OK", result: "1" };
  const has = asked.get("action") === "txlist" && asked.get("page") === "1";
  return has ? { status: "1", message: "OK", result: [row] } : { status: "0", message: "No transactions found", result: [] };
}
