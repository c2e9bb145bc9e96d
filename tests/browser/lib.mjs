// What every test of the dashboard starts from: a service of its own, a browser, and visitors who notice when a page misbehaves.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const root = new URL("../../", import.meta.url);
const binary = process.env.TAXON_BIN ?? new URL("target/debug/taxon", root).pathname;

const START_MILLIS_MAX = 90_000;
/** How long a step on a page may take. A bound for what hangs, not a measure: on a machine that others use too, a picture alone can take ten seconds. */
const PATIENCE_MILLIS_MAX = 60_000;
const POLL_MILLIS = 100;
export const PASSWORD = "four plain words here";
export const PHONE = { width: 390, height: 844 };
export const WIDE = { width: 1280, height: 900 };

const scenario = JSON.parse(await readFile(new URL("demo/scenario.json", root), "utf8"));

/** A transaction of the demo chain, by its name in demo/scenario.json. */
export const demo = (name) => scenario.transactions.find((done) => done.name === name) ?? assert.fail(`no transaction ${name}`);

/** A fresh service that ends with the test. It believes `X-Forwarded-For`, so that every visitor can come from an address of their own. */
export async function startService(t, env = {}) {
  const folder = await mkdtemp(join(tmpdir(), "taxon-browser-"));
  const all = {
    PATH: process.env.PATH,
    TAXON_DATA_DIR: folder,
    TAXON_LISTEN: "127.0.0.1:0",
    TAXON_RATE_PER_MINUTE: "0",
    TAXON_RPC_ETHEREUM: "http://127.0.0.1:9",
    TAXON_TRUSTED_PROXIES: "127.0.0.1/32",
    ...env,
  };
  // The shell ends the service when our end of its input closes, even when this process is killed.
  const child = spawn("sh", ["-c", '"$@" </dev/null & cat; kill $!; wait $!', "sh", binary, "serve", "--demo"], {
    cwd: folder,
    env: all,
    stdio: ["pipe", "ignore", "pipe"],
  });
  t.after(async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = await origin(child);
  /** The path of a one-time link, as a command of `taxon accounts` prints it. */
  const link = (...command) => {
    const printed = execFileSync(binary, ["accounts", ...command], { env: all, cwd: folder, encoding: "utf8" });
    return url + printed.trim().split("\n").at(-1);
  };
  return { url, newLink: link, link: link("first-operator") };
}

/** Where it listens, from the line of the log that says so. */
function origin(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    const timer = setTimeout(() => reject(new Error(`${binary} did not come up: ${said}`)), START_MILLIS_MAX);
    child.on("error", reject);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      const found = said.match(/serving.* local=(\S+)\s/);
      if (!found) return;
      clearTimeout(timer);
      resolve(`http://${found[1]}`);
    });
  });
}

export async function startBrowser(t) {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  t.after(() => browser.close());
  return browser;
}

let addresses = 0;

/**
 * Somebody with a browser profile and an address of their own. When the test ends, nothing may have been said in the console: no error, no
 * violation of the content policy, no dialog. `refusals` are statuses that the test means to meet.
 */
export async function visitor(t, browser, service, { refusals = [], ...options } = {}) {
  addresses += 1;
  const context = await browser.newContext({
    baseURL: service.url,
    extraHTTPHeaders: { "X-Forwarded-For": `192.0.2.${addresses}` },
    viewport: WIDE,
    ...options,
  });
  context.setDefaultTimeout(PATIENCE_MILLIS_MAX);
  const faults = [];
  context.on("console", (message) => {
    const refused = message.text().match(/responded with a status of (\d+)/);
    const isMeant = refused && refusals.includes(Number(refused[1]));
    if (["error", "warning"].includes(message.type()) && !isMeant) faults.push(`${message.page()?.url()}: ${message.text()}`);
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  context.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  return context.newPage();
}

/** A name that no other account of this run has. */
export const someone = () => `someone-${Math.random().toString(36).slice(2, 10)}@example.com`;

/** Through the two doors, to the account settings. */
export async function enter(page, email = someone()) {
  await page.goto("/sign-up");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await signIn(page, email);
  return email;
}

/** From the page with the sign-in form. */
export async function signIn(page, email) {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Account settings" }).waitFor();
}

/** Becomes the operator by the first link. */
export async function becomeOperator(page, service) {
  const email = someone();
  await page.goto(service.link);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("heading", { name: "Account settings" }).waitFor();
  return email;
}

/** Shows that the address is theirs, by a link that the operator handed over. */
export async function confirm(page, service, email) {
  await page.goto(service.newLink("link", email));
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("main").getByRole("button").click();
  await page.getByRole("heading", { name: "Account settings" }).waitFor();
}

export async function createKey(page, name) {
  await page.goto("/account");
  await page.getByLabel("Name of a new key").fill(name);
  await page.getByRole("button", { name: "Create key" }).click();
  return page.locator("#new-key").innerText();
}

/** Reads a transaction from the first page, as a person does. */
export async function read(page, hash, chain, wallet = "") {
  await page.goto("/");
  await page.getByLabel("Transaction hash").fill(hash);
  if (chain) {
    await page.getByText("Chain and wallet").click();
    await page.locator("select[name=chain]").selectOption(chain);
    await page.getByLabel("Read it as this wallet saw it").fill(wallet);
  }
  await page.getByRole("button", { name: "Read it" }).click();
  const refused = page.getByRole("alert");
  await page.getByRole("article").or(refused).first().waitFor();
  if (await refused.count()) assert.fail(await refused.innerText());
}

/** With a key, as curl would. */
export const classify = (service, key, hash) =>
  fetch(`${service.url}/v1/classify`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ hash, chain: "demo" }),
  });

/** Asks until it holds; history is written once a second. */
export async function eventually(what, holds, millis = 5_000) {
  const end = Date.now() + millis;
  while (!(await holds())) {
    if (Date.now() > end) assert.fail(`${what}: not within ${millis} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
  }
}
