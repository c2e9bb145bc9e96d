// Usage: node proofs.mjs RPC_URL
//
// Contracts that no list names, on a fresh anvil with the contracts of Base: a gauge that Aerodrome's voter made, and another with the same code that
// somebody else deployed; a vault of Morpho that its factory vouches for, and one that it does not; copies of a contract that an operator's pack lists,
// as a minimal proxy and behind a beacon. Prints one JSON document that names every transaction, as scenario.mjs does, and the addresses and the code that
// the pack needs.

import { concat, keccak256 } from "ethers";

import { artifact } from "./lib/artifacts.mjs";
import { call, connect, contractAt, deploy, record, rpc, send } from "./lib/chain.mjs";
import { compileContracts } from "./lib/compile.mjs";
import { deployMorpho, deployVault } from "./lib/morpho.mjs";
import { place } from "./lib/placement.mjs";
import { allow, deployTokens, dollars, euros } from "./lib/tokens.mjs";

const VOTER = "0x16613524e02ad97eDfeF371bC883F2F5d6C480A5";
const POOL_FACTORY = "0x420DD381b31aEf6683db6B902084cB0FFECe40Da";
const POOL_CODE = "0xA4e46b4f701c62e14DF11B48dCe76A7d793CD6d7";
const VAULT_FACTORY = "0xFf62A7c278C62eD665133147129245053Bbf5918";
// EIP-1167: what it deploys passes every call on to the implementation.
const CLONE = ["0x3d602d80600a3d3981f3363d3d373d3d3d363d73", "0x5af43d82803e903d91602b57fd5bf3"];

const url = process.argv[2];
if (!url) {
  console.error("usage: node proofs.mjs RPC_URL");
  process.exit(2);
}

const compiling = compileContracts(["Gauge", "Voter", "Pair", "PairFactory", "VaultFactory"]);
const chain = await connect(url);
const { deployer, maker, wallet, stranger } = chain.accounts;
const { dusd, deur } = await deployTokens(chain);
const { Gauge, Voter, Pair, PairFactory, VaultFactory } = await compiling;

async function useGauge(name, gauge) {
  await allow(chain, wallet, dusd, gauge);
  await record(chain, `${name}_stake`, "Staked 300 dUSD.", wallet, call(gauge, "deposit", [dollars("300")]));
  await record(chain, `${name}_unstake`, "Took 200 dUSD back.", wallet, call(gauge, "withdraw", [dollars("200")]));
}

/** A minimal proxy that a stranger deploys. */
async function cloneOf(implementation) {
  const [prefix, suffix] = CLONE;
  const made = await send(chain, stranger, { data: concat([prefix, implementation.address, suffix]) });
  const clone = contractAt(made.contractAddress, Gauge);
  await send(chain, stranger, call(clone, "initialize", [dusd.address]));
  return clone;
}

// Derivation: a pair of Aerodrome, by the place that its tokens and its curve give it.
const pairCode = await place(chain, POOL_CODE, Pair, []);
const pools = await place(chain, POOL_FACTORY, PairFactory, []);
const opened = await send(chain, deployer, call(pools, "createPool", [pairCode.address, dusd.address, deur.address, false]));
const [pool] = opened.logs.map((log) => pools.abi.parseLog(log)).filter((log) => log?.name === "PoolCreated");
const pair = contractAt(pool.args.pool, Pair);
await send(chain, maker, call(deur, "transfer", [pair.address, euros("1000")]));
await allow(chain, wallet, dusd, pair);
const trade = call(pair, "swap", [dusd.address, dollars("110"), euros("100")]);
await record(chain, "pair_swap", "Gave 110 dUSD for 100 dEUR.", wallet, trade);

// Asking: a gauge that the voter made, and a stranger's with the same code.
const implementation = await deploy(chain, deployer, Gauge);
const voter = await place(chain, VOTER, Voter, []);
const made = await send(chain, deployer, call(voter, "createGauge", [implementation.address, dusd.address]));
const [created] = made.logs.map((log) => voter.abi.parseLog(log)).filter((log) => log?.name === "GaugeCreated");
await useGauge("voters", contractAt(created.args.gauge, Gauge));
await useGauge("strangers", await cloneOf(implementation));

// Asking: a vault that Morpho's factory vouches for, and one that it does not.
const morpho = await deployMorpho(chain, dusd);
const factory = await place(chain, VAULT_FACTORY, VaultFactory, []);
for (const [name, owner] of [["factorys_vault", deployer], ["strangers_vault", stranger]]) {
  const vault = await deployVault(chain, morpho, owner, name);
  if (owner === deployer) await send(chain, deployer, call(factory, "enter", [vault.address]));
  await allow(chain, wallet, dusd, vault);
  const [put, took] = [dollars("300"), dollars("200")];
  await record(chain, `${name}_deposit`, "Put 300 dUSD in.", wallet, call(vault, "deposit", [put, wallet.address]));
  const withdrawal = call(vault, "withdraw", [took, wallet.address, wallet.address]);
  await record(chain, `${name}_withdraw`, "Took 200 dUSD out.", wallet, withdrawal);
}

// Code: copies of a contract that the operator's own pack lists, and a copy of another with the same events.
const listed = await deploy(chain, deployer, Gauge);
await useGauge("clone", await cloneOf(listed));
await useGauge("strangers_clone", await cloneOf(await deploy(chain, stranger, Gauge)));
const openZeppelin = (name) => artifact(`@openzeppelin/contracts/build/contracts/${name}.json`);
const beaconProxies = [];
for (const [name, owner] of [["beacon", deployer], ["strangers_beacon", stranger]]) {
  const beacon = await deploy(chain, owner, openZeppelin("UpgradeableBeacon"), [listed.address]);
  const proxy = await deploy(chain, stranger, openZeppelin("BeaconProxy"), [beacon.address, "0x"]);
  const gauge = contractAt(proxy.address, Gauge);
  await send(chain, stranger, call(gauge, "initialize", [dusd.address]));
  await useGauge(name, gauge);
  beaconProxies.push({ beacon: beacon.address, code: keccak256(await rpc(chain, "eth_getCode", proxy.address, "latest")) });
}
const [{ beacon, code }] = beaconProxies;

const contracts = { implementation: listed.address, beacon, beacon_proxy_code: code };
console.log(JSON.stringify({ wallet: wallet.address, contracts, transactions: chain.transactions }, null, 2));
