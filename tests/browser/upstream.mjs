// A node of Ethereum that knows what the demo chain recorded, and lets tokens call themselves whatever a test wants.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { root } from "./lib.mjs";

const SYMBOL = "0x95d89b41";
const NAME = "0x06fdde03";
const CHAIN_ID = "0x1";

/** `names` maps a token's address, in small letters, to its `symbol` and `name`. */
export async function startUpstream(t, names) {
  const recorded = new Map();
  for (const line of (await readFile(new URL("demo/evm.jsonl", root), "utf8")).split("\n").filter(Boolean)) {
    const { method, params, result } = JSON.parse(line);
    // The recording was made under another chain's number.
    // What was signed names the demo chain, so the copy has no signature.
    const moved = method === "eth_getTransactionByHash" ? { ...result, chainId: CHAIN_ID, r: undefined } : result;
    recorded.set(asked(method, params), moved);
  }
  const answer = ({ id, method, params = [] }) => {
    const result = method === "eth_call" ? renamed(names, params[0]) : undefined;
    const found = result ?? fixed[method] ?? recorded.get(asked(method, params));
    if (found !== undefined) return { jsonrpc: "2.0", id, result: found };
    if (method === "eth_call") return { jsonrpc: "2.0", id, error: { code: 3, message: "execution reverted" } };
    if (method.startsWith("eth_get")) return { jsonrpc: "2.0", id, result: null };
    return { jsonrpc: "2.0", id, error: { code: -32601, message: "method not found" } };
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    const asks = JSON.parse(body);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(Array.isArray(asks) ? asks.map(answer) : answer(asks)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const fixed = { eth_chainId: CHAIN_ID, eth_blockNumber: "0xffff" };

/** Objects are written with their fields in one order. */
const asked = (method, params) =>
  JSON.stringify([method, params], (_, value) =>
    value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value);

function renamed(names, { to, data, input = data }) {
  const token = names[to?.toLowerCase()];
  if (token && input === SYMBOL) return encoded(token.symbol);
  if (token && input === NAME) return encoded(token.name);
  return undefined;
}

/** A string as a contract returns it. */
function encoded(text) {
  const bytes = Buffer.from(text, "utf8");
  const word = (number) => number.toString(16).padStart(64, "0");
  return `0x${word(32)}${word(bytes.length)}${bytes.toString("hex").padEnd(Math.ceil(bytes.length / 32) * 64, "0")}`;
}
