// Compiles the contracts of this folder on a second thread: the compiler blocks for seconds, which the deployments of
// everything else can use.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const SCENARIO = ["DemoVault", "BatchAccount", "ForgedSupply", "ForgedSwap", "SpamToken", "FakeToken"];

/** A promise of `{ DemoVault, BatchAccount, … }`, each an artifact. */
export function compileContracts(names = SCENARIO) {
  const worker = new Worker(new URL(import.meta.url), { workerData: names });
  return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
}

if (!isMainThread) parentPort.postMessage(compile(workerData));

function compile(names) {
  const require = createRequire(import.meta.url);
  const solc = require("solc");
  const text = (path) => readFileSync(path, "utf8");
  const source = (name) => text(new URL(`../contracts/${name}.sol`, import.meta.url));
  const sources = names.map((name) => [name, { content: source(name) }]);
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(sources),
    settings: {
      // Older than the compiler's default, so that the code runs on every fork anvil is likely to be started with.
      evmVersion: "shanghai",
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
    },
  };
  const imported = (path) => ({ contents: text(require.resolve(path)) });
  const { contracts, errors = [] } = JSON.parse(solc.compile(JSON.stringify(input), { import: imported }));
  const failures = errors.filter((error) => error.severity === "error");
  if (failures.length > 0) throw new Error(failures.map((failure) => failure.formattedMessage).join("\n"));

  const compiled = (name) => contracts[name][name];
  const artifact = ({ abi, evm }) => ({ abi, bytecode: evm.bytecode.object, linkReferences: {} });
  return Object.fromEntries(names.map((name) => [name, artifact(compiled(name))]));
}
