// Balancer v2: vault and weighted pool factory at their mainnet addresses, and one pool of two tokens.

import { AbiCoder, parseEther } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, contractAt, deadline, deploy, read, record, send } from "./chain.mjs";
import { place } from "./placement.mjs";
import { allow, dollars, euros } from "./tokens.mjs";
import { side, sorted } from "./uniswap_v3_positions.mjs";

const TASKS = "@balancer-labs/v2-deployments/dist/tasks";
const AUTHORIZER = artifact(`${TASKS}/20210418-authorizer/artifact/Authorizer.json`);
const VAULT = artifact(`${TASKS}/20210418-vault/artifact/Vault.json`);
const POOL_FACTORY = artifact(`${TASKS}/deprecated/20210418-weighted-pool/artifact/WeightedPoolFactory.json`);
const POOL = {
  abi: ["function getPoolId() view returns (bytes32)", "function balanceOf(address) view returns (uint256)"],
};

const ON_MAINNET = {
  vault: "0xBA12222222228d8Ba445958a75a0704d566BF2C8",
  poolFactory: "0x8E9aa87E45e92bad84D5F8DD1bff34Fb92637dE9",
};
/** The factory creates the pools, which must not land on the addresses of others. */
const NONCE_PAST_MAINNET = 1_000_000;
const DAY_SECONDS = 24 * 60 * 60;
const PAUSE = { window: 90 * DAY_SECONDS, buffer: 30 * DAY_SECONDS };
const HALF = parseEther("0.5");
const SWAP_FEE = parseEther("0.003");

const FIRST_JOIN = 0;
const JOIN_WITH_EXACT_TOKENS = 1;
const EXIT_WITH_EXACT_SHARES = 1;
const EXACT_IN = 0;

export async function deployBalancerV2(chain, { weth, dusd, deur }) {
  const { deployer, wallet, maker } = chain.accounts;
  const authorizer = await deploy(chain, deployer, AUTHORIZER, [deployer.address]);
  const paused = [PAUSE.window, PAUSE.buffer];
  const vault = await place(chain, ON_MAINNET.vault, VAULT, [authorizer.address, weth.address, ...paused]);
  const past = { nonce: NONCE_PAST_MAINNET };
  const factory = await place(chain, ON_MAINNET.poolFactory, POOL_FACTORY, [vault.address], past);

  const sides = sorted([side(dusd, dollars("216000")), side(deur, euros("200000"))]);
  const tokens = sides.map(({ token }) => token);
  const created = ["Demo 50 dUSD 50 dEUR", "50dUSD-50dEUR", tokens, [HALF, HALF], SWAP_FEE, deployer.address];
  const pool = contractAt(await read(chain, factory, "create", created), POOL);
  await send(chain, deployer, call(factory, "create", created));

  for (const owner of [maker, wallet]) {
    await allow(chain, owner, dusd, vault);
    await allow(chain, owner, deur, vault);
  }
  const balancer = { vault, factory, pool, id: await read(chain, pool, "getPoolId") };
  const filled = encoded(["uint256", "uint256[]"], [FIRST_JOIN, amounts(sides)]);
  await send(chain, maker, joined(balancer, maker, sides, filled));
  return balancer;
}

export async function useBalancerV2(chain, { dusd, deur }, balancer) {
  const { wallet } = chain.accounts;
  const { vault, pool, id } = balancer;
  const did = (name, why, request) => record(chain, name, why, wallet, request);

  const single = [id, EXACT_IN, dusd.address, deur.address, dollars("400"), "0x"];
  const own = [wallet.address, false, wallet.address, false];
  const swapped = call(vault, "swap", [single, own, 0, await deadline(chain)]);
  await did("balancer_swap", "Swapped 400 dUSD for dEUR in a Balancer pool.", swapped);

  const sides = sorted([side(dusd, dollars("540")), side(deur, euros("500"))]);
  const joining = encoded(["uint256", "uint256[]", "uint256"], [JOIN_WITH_EXACT_TOKENS, amounts(sides), 0]);
  const why = "Put 540 dUSD and 500 dEUR into a Balancer pool.";
  await did("balancer_join", why, joined(balancer, wallet, sides, joining));

  const shares = await read(chain, pool, "balanceOf", [wallet.address]);
  const leaving = encoded(["uint256", "uint256"], [EXIT_WITH_EXACT_SHARES, shares / 2n]);
  const request = [sides.map(({ token }) => token), [0, 0], leaving, false];
  const exited = call(vault, "exitPool", [id, wallet.address, wallet.address, request]);
  await did("balancer_exit", "Took half of the Balancer pool share out again, in both tokens.", exited);
}

function joined({ vault, id }, account, sides, userData) {
  const request = [sides.map(({ token }) => token), amounts(sides), userData, false];
  return call(vault, "joinPool", [id, account.address, account.address, request]);
}

const amounts = (sides) => sides.map(({ amount }) => amount);
const encoded = (types, values) => AbiCoder.defaultAbiCoder().encode(types, values);
