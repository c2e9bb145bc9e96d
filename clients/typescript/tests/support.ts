/** Starts the parts: the real service on its demo chains, and a server that fails on demand. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const ROOT = new URL("../../../../", import.meta.url);
const START_SECONDS_MAX = 30;

export interface Service {
  readonly url: string;
  key(owner?: string, tier?: string): string;
}

/** The service with its demo chains. The configured upstream keeps public endpoints out; nobody listens there. */
export async function serve(settings: Record<string, string>, use: (service: Service) => Promise<void>): Promise<void> {
  const binary = process.env["TAXON_BIN"];
  if (!binary) throw new Error("TAXON_BIN must name the service's binary");
  const address = `127.0.0.1:${await freePort()}`;
  const folder = mkdtempSync(join(tmpdir(), "taxon-client-"));
  const env = {
    PATH: process.env["PATH"],
    TAXON_RPC_ETHEREUM: "http://127.0.0.1:9",
    TAXON_DATA_DIR: folder,
    TAXON_LISTEN: address,
    TAXON_LOG: "error",
    TAXON_RATE_PER_MINUTE: "0",
    ...settings,
  };
  // The shell ends the service when our end of its input closes, even when the tests are killed.
  const line = '"$@" >/dev/null & cat; kill $!; wait $!';
  const shell = spawn("sh", ["-c", line, "sh", binary, "serve", "--demo"], {
    env,
    cwd: folder,
    stdio: ["pipe", "ignore", "inherit"],
  });
  try {
    await waitFor(`http://${address}/readyz`);
    await use({
      url: `http://${address}`,
      key(owner = "a@example.com", tier = "dev") {
        const printed = execFileSync(binary, ["keys", "create", "--owner", owner, "--tier", tier], { env, encoding: "utf8" });
        return printed.trimEnd().split("\n").at(-1)!;
      },
    });
  } finally {
    const ended = once(shell, "exit");
    shell.stdin.end();
    await ended;
    rmSync(folder, { recursive: true });
  }
}

/** A folder that is gone afterwards. */
export async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "taxon-client-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function freePort(): Promise<number> {
  const server = createSocketServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function waitFor(url: string): Promise<void> {
  for (const end = performance.now() + START_SECONDS_MAX * 1000; performance.now() < end; ) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the service did not come up");
}

export interface Transaction {
  readonly name: string;
  readonly hash: string;
  readonly wallet: string;
}

function scenario(name: string): Transaction[] {
  const file = JSON.parse(readFileSync(new URL(`demo/${name}`, ROOT), "utf8")) as { transactions: Transaction[] };
  return file.transactions;
}

export const EVM = scenario("scenario.json");
export const SOLANA = scenario("solana-scenario.json");
export const HASHES = [...EVM, ...SOLANA].map((transaction) => transaction.hash);

export function named(name: string): Transaction {
  const found = [...EVM, ...SOLANA].find((transaction) => transaction.name === name);
  if (!found) throw new Error(`no transaction ${name}`);
  return found;
}

export function repeated(count: number): string[] {
  return Array.from({ length: count }, (_, index) => HASHES[index % HASHES.length]!);
}

/** What the failing server says once. */
export interface Answer {
  readonly status?: number;
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Bytes of the body that are sent before the connection is closed. */
  readonly cutAt?: number;
  /** Nothing is sent and the connection is reset. */
  readonly isReset?: boolean;
  /** Nothing is sent. */
  readonly isSilent?: boolean;
}

export interface Asked {
  readonly hashes: { hash: string; tx_id?: string; chain?: string }[];
}

export interface Seen {
  readonly at: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Asked;
  readonly text: string;
}

export type Scripted = Answer | ((body: Asked) => Answer);

/** Answers in order, the last one for ever. */
export async function scripted(answers: Scripted[], use: (url: string, seen: Seen[]) => Promise<void>): Promise<void> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const isJson = request.headers["content-type"] === "application/json";
    const body = (text && isJson ? JSON.parse(text) : undefined) as Asked;
    seen.push({ at: performance.now(), path: request.url!, headers: request.headers, body, text });
    const next = answers[Math.min(seen.length, answers.length) - 1]!;
    const answer = typeof next === "function" ? next(body) : next;
    if (answer.isSilent) return;
    if (answer.isReset) {
      request.socket.resetAndDestroy();
      return;
    }
    const sent = Buffer.from(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    if (!answer.headers?.["date"]) response.sendDate = false;
    response.writeHead(answer.status ?? 200, { "content-length": sent.length, ...answer.headers });
    if (answer.cutAt === undefined) response.end(sent);
    else response.write(sent.subarray(0, answer.cutAt), () => request.socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A row as the service writes it. */
export function row(fields: object = {}): object {
  return {
    api_version: "v1",
    hash: `0x${"00".repeat(32)}`,
    chain: "demo",
    category: "swap",
    treatment: "disposal",
    taxable: true,
    confidence: 99,
    needs_review: false,
    ledger_action: "dispose_and_acquire",
    protocol: null,
    description: null,
    review_note: null,
    grey_area: null,
    assets: { sent: [], received: [], gas: null },
    engine: "0.1.0+0",
    ...fields,
  };
}

export function error(status: number, code: string, headers: Record<string, string> = {}, message = "as the test says"): Answer {
  return { status, body: { error: { code, message } }, headers };
}

/** One row for each item, its hash and id echoed; some of them failed. */
export function batch(code?: string, ...places: number[]): (body: Asked) => Answer {
  return (body) => {
    const results = body.hashes.map(({ hash, tx_id }, place) =>
      row({
        hash,
        ...(tx_id === undefined ? {} : { id: tx_id }),
        ...(places.includes(place) ? { error: code, category: "unclassified" } : {}),
      }),
    );
    return { body: { api_version: "v1", count: results.length, results } };
  };
}
