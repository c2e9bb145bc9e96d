// The connection to anvil, and how its state changes: by a signed transaction from an ordinary account, or by a
// deployment from an impersonated mainnet deployer. Where neither gives the right address, see placement.mjs.
//
// ethers signs and encodes; requests go out by hand, because its provider waits seconds for a receipt that anvil has
// within milliseconds.

import { setTimeout } from "node:timers/promises";

import { HDNodeWallet, Interface, getAddress, toQuantity } from "ethers";

import { initCode } from "./artifacts.mjs";

/** The phrase that every anvil and hardhat node funds by default. It guards nothing. */
const PHRASE = "test test test test test test test test test test test junk";
const ROLES = ["deployer", "wallet", "friend", "maker", "batcher", "bundler", "stranger"];

const GWEI = 10n ** 9n;
/** Anvil's base fee falls towards zero in near-empty blocks. Held still, fees stay the size that people pay. */
const BASE_FEE = 3n * GWEI;
const PRIORITY_FEE = 1n * GWEI;
const BLOCK_SECONDS = 12;
const DEADLINE_SECONDS = 20 * 60;
const RECEIPT_ATTEMPTS_MAX = 2000;
const RECEIPT_PAUSE_MS = 2;

export const MAX_UINT256 = 2n ** 256n - 1n;

/** Connects and settles everything that would make two runs differ. */
export async function connect(url) {
  const chain = { url, chainId: 0n, accounts: accounts(), transactions: [] };
  chain.chainId = BigInt(await rpc(chain, "eth_chainId"));
  await rpc(chain, "anvil_setBlockTimestampInterval", BLOCK_SECONDS);
  return chain;
}

export async function rpc(chain, method, ...params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json" };
  const response = await fetch(chain.url, { method: "POST", headers, body });
  const { error, result } = await response.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

/** A deployed contract: where it is and how to speak to it. */
export function contractAt(address, artifact) {
  return { address: getAddress(address), abi: new Interface(artifact.abi) };
}

/** The request that calls `method`, not yet sent. */
export function call(contract, method, args = [], fields = {}) {
  return { to: contract.address, data: contract.abi.encodeFunctionData(method, args), ...fields };
}

/** Runs a call without a transaction. A method with one return value gives that value, others the whole result. */
export async function read(chain, contract, method, args = [], { from, value = 0n } = {}) {
  const { to, data } = call(contract, method, args);
  const request = { from: from?.address, to, data, value: toQuantity(value) };
  const answer = await rpc(chain, "eth_call", request, "latest");
  const result = contract.abi.decodeFunctionResult(method, answer);
  return result.length === 1 ? result[0] : result;
}

/** Signs and sends one transaction, which automine puts in a block of its own, and checks how it ended. */
export async function send(chain, from, request, { reverts = false } = {}) {
  await rpc(chain, "anvil_setNextBlockBaseFeePerGas", toQuantity(BASE_FEE));
  const hash = await rpc(chain, "eth_sendRawTransaction", await signed(chain, from, request));
  const receipt = await mined(chain, hash);
  if ((receipt.status === "0x0") !== reverts) throw new Error(`${hash}: status ${receipt.status}`);
  return receipt;
}

/** Sends a transaction that the printed document lists. */
export async function record(chain, name, why, from, request, { reverts = false, wallet = from } = {}) {
  const receipt = await send(chain, from, request, { reverts });
  console.error(`${name} ${receipt.transactionHash}`);
  chain.transactions.push({ name, hash: receipt.transactionHash, wallet: wallet.address, why });
  return receipt;
}

export async function deploy(chain, from, artifact, args = [], libraries = {}) {
  const receipt = await send(chain, from, { data: initCode(artifact, args, libraries) });
  return contractAt(receipt.contractAddress, artifact);
}

/** Deploys where mainnet has it: CREATE addresses depend only on who deploys and on that account's nonce. */
export async function deployAsOnMainnet(chain, { address, deployer, nonce }, artifact, args = [], libraries = {}) {
  await rpc(chain, "anvil_setBalance", deployer, toQuantity(10n ** 18n));
  await rpc(chain, "anvil_setNonce", deployer, toQuantity(nonce));
  await rpc(chain, "anvil_impersonateAccount", deployer);
  await rpc(chain, "anvil_setNextBlockBaseFeePerGas", toQuantity(BASE_FEE));
  const request = { from: deployer, data: initCode(artifact, args, libraries) };
  const hash = await rpc(chain, "eth_sendTransaction", request);
  await rpc(chain, "anvil_stopImpersonatingAccount", deployer);

  const receipt = await mined(chain, hash);
  const contract = contractAt(receipt.contractAddress, artifact);
  if (receipt.status !== "0x1" || contract.address !== getAddress(address)) throw new Error(`not at ${address}`);
  return contract;
}

/** A deadline such as wallets set: some minutes after the newest block, in the chain's own time. */
export async function deadline(chain) {
  return (await now(chain)) + DEADLINE_SECONDS;
}

/** Lets the next block come `days` later than it otherwise would, so that interest shows. */
export async function passDays(chain, days) {
  await rpc(chain, "evm_setNextBlockTimestamp", (await now(chain)) + days * 24 * 60 * 60);
}

/** Automine is quick but not instant. */
async function mined(chain, hash) {
  for (let attempt = 0; attempt < RECEIPT_ATTEMPTS_MAX; attempt++) {
    const receipt = await rpc(chain, "eth_getTransactionReceipt", hash);
    if (receipt) return receipt;
    await setTimeout(RECEIPT_PAUSE_MS);
  }
  throw new Error(`${hash}: not mined`);
}

async function now(chain) {
  const block = await rpc(chain, "eth_getBlockByNumber", "latest", false);
  return Number(block.timestamp);
}

async function signed(chain, from, request) {
  const nonce = Number(await rpc(chain, "eth_getTransactionCount", from.address, "latest"));
  const gasLimit = request.gasLimit ?? (await gasLimitOf(chain, from, request));
  const filled = { ...fees(request.type ?? 2), ...request, chainId: chain.chainId, nonce, gasLimit };
  return from.signTransaction(filled);
}

/** A quarter on top of the estimate, as wallets add, because the estimate can fall short a block later. */
async function gasLimitOf(chain, from, { to, data, value = 0n, accessList }) {
  const request = { from: from.address, to, data, value: toQuantity(value), accessList };
  return (BigInt(await rpc(chain, "eth_estimateGas", request)) * 5n) / 4n;
}

function fees(type) {
  const hasMarketFees = type >= 2;
  if (!hasMarketFees) return { type, gasPrice: BASE_FEE + PRIORITY_FEE };
  return { type, maxFeePerGas: 2n * BASE_FEE + PRIORITY_FEE, maxPriorityFeePerGas: PRIORITY_FEE };
}

function accounts() {
  const branch = HDNodeWallet.fromPhrase(PHRASE, "", "m/44'/60'/0'/0");
  return Object.fromEntries(ROLES.map((role, index) => [role, branch.deriveChild(index)]));
}
