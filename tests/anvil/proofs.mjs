// Usage: node proofs.mjs RPC_URL
//
// Gauges that no list names, on a fresh anvil with the contracts of Base: some that Aerodrome's voter made, and others with the same code that
// somebody else deployed. Prints one JSON document that names every transaction, as scenario.mjs does.

import { concat } from "ethers";

import { call, connect, contractAt, deploy, record, send } from "./lib/chain.mjs";
import { compileContracts } from "./lib/compile.mjs";
import { place } from "./lib/placement.mjs";
import { allow, deployTokens, dollars } from "./lib/tokens.mjs";

const VOTER = "0x16613524e02ad97eDfeF371bC883F2F5d6C480A5";
// EIP-1167: what it deploys passes every call on to the implementation.
const CLONE = ["0x3d602d80600a3d3981f3363d3d373d3d3d363d73", "0x5af43d82803e903d91602b57fd5bf3"];

const url = process.argv[2];
if (!url) {
  console.error("usage: node proofs.mjs RPC_URL");
  process.exit(2);
}

const compiling = compileContracts(["Gauge", "Voter"]);
const chain = await connect(url);
const { deployer, wallet, stranger } = chain.accounts;
const { dusd } = await deployTokens(chain);
const { Gauge, Voter } = await compiling;

const implementation = await deploy(chain, deployer, Gauge);
const voter = await place(chain, VOTER, Voter, []);
const made = await send(chain, deployer, call(voter, "createGauge", [implementation.address, dusd.address]));
const [created] = made.logs.map((log) => voter.abi.parseLog(log)).filter((log) => log?.name === "GaugeCreated");
const gauge = contractAt(created.args.gauge, Gauge);

const [prefix, suffix] = CLONE;
const copied = await send(chain, stranger, { data: concat([prefix, implementation.address, suffix]) });
const copy = contractAt(copied.contractAddress, Gauge);
await send(chain, stranger, call(copy, "initialize", [dusd.address]));

for (const [name, contract] of [["voters", gauge], ["strangers", copy]]) {
  await allow(chain, wallet, dusd, contract);
  await record(chain, `${name}_stake`, "Staked 300 dUSD.", wallet, call(contract, "deposit", [dollars("300")]));
  await record(chain, `${name}_unstake`, "Took 200 dUSD back.", wallet, call(contract, "withdraw", [dollars("200")]));
}

console.log(JSON.stringify({ wallet: wallet.address, transactions: chain.transactions }, null, 2));
