// Unknown copies of known protocols: the same bytecode at addresses that no list names.

import { artifact } from "./artifacts.mjs";
import { call, contractAt, deadline, deploy, read, record, send } from "./chain.mjs";
import { allow, dollars, euros } from "./tokens.mjs";

const FACTORY = artifact("@uniswap/v2-core/build/UniswapV2Factory.json");
const PAIR = artifact("@uniswap/v2-core/build/UniswapV2Pair.json");
const ROUTER = artifact("@uniswap/v2-periphery/build/UniswapV2Router02.json");

export async function deployForks(chain, { weth, dusd, deur }, { DemoVault }) {
  const { deployer, wallet, maker } = chain.accounts;
  const factory = await deploy(chain, deployer, FACTORY, [deployer.address]);
  const router = await deploy(chain, deployer, ROUTER, [factory.address, weth.address]);
  const vault = await deploy(chain, deployer, DemoVault, [dusd.address]);

  for (const owner of [maker, wallet]) {
    await allow(chain, owner, dusd, router);
    await allow(chain, owner, deur, router);
  }
  await allow(chain, wallet, dusd, vault);
  const fork = { factory, router, vault };
  await send(chain, maker, await added(chain, fork, maker, [dusd, dollars("108000")], [deur, euros("100000")]));
  const pair = contractAt(await read(chain, factory, "getPair", [dusd.address, deur.address]), PAIR);
  return { ...fork, pair };
}

export async function useForks(chain, { dusd, deur }, fork) {
  const { wallet } = chain.accounts;
  const did = (name, why, request) => record(chain, name, why, wallet, request);

  const path = [dusd.address, deur.address];
  const swapped = [dollars("300"), 0, path, wallet.address, await deadline(chain)];
  const swap = call(fork.router, "swapExactTokensForTokens", swapped);
  await did("fork_v2_swap", "Swapped 300 dUSD for dEUR on an unknown copy of Uniswap v2.", swap);

  const liquidity = await added(chain, fork, wallet, [dusd, dollars("540")], [deur, euros("600")]);
  const why = "Put 540 dUSD and the matching dEUR into a pool of an unknown copy of Uniswap v2.";
  await did("fork_v2_liquidity_add", why, liquidity);

  const deposited = call(fork.vault, "deposit", [dollars("700"), wallet.address]);
  await did("fork_vault_deposit", "Deposited 700 dUSD in a vault that no list names.", deposited);
}

async function added(chain, { router }, account, [first, firstAmount], [second, secondAmount]) {
  const sides = [first.address, second.address, firstAmount, secondAmount, 0, 0];
  return call(router, "addLiquidity", [...sides, account.address, await deadline(chain)]);
}
