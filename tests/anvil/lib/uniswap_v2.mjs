// Uniswap v2: factory and router at their mainnet addresses, two pairs, and one of each thing that people do there.

import { artifact } from "./artifacts.mjs";
import { call, contractAt, deadline, deployAsOnMainnet, read, record, send } from "./chain.mjs";
import { allow, dollars, ether, euros } from "./tokens.mjs";

const FACTORY = artifact("@uniswap/v2-core/build/UniswapV2Factory.json");
const PAIR = artifact("@uniswap/v2-core/build/UniswapV2Pair.json");
const ROUTER = artifact("@uniswap/v2-periphery/build/UniswapV2Router02.json");

const DEPLOYER = "0x9C33eaCc2F50E39940D3AfaF2c7B8246B681A374";
const ON_MAINNET = {
  factory: { address: "0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f", deployer: DEPLOYER, nonce: 0 },
  router: { address: "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D", deployer: DEPLOYER, nonce: 3 },
};

export async function deployUniswapV2(chain, tokens) {
  const { deployer, maker } = chain.accounts;
  const { weth, dusd, deur } = tokens;
  const factory = await deployAsOnMainnet(chain, ON_MAINNET.factory, FACTORY, [deployer.address]);
  const router = await deployAsOnMainnet(chain, ON_MAINNET.router, ROUTER, [factory.address, weth.address]);

  await allow(chain, maker, dusd, router);
  await allow(chain, maker, deur, router);
  const etherSide = [dusd.address, dollars("900000"), 0, 0, maker.address, await deadline(chain)];
  await send(chain, maker, call(router, "addLiquidityETH", etherSide, { value: ether("300") }));
  const amounts = [dollars("540000"), euros("500000"), 0, 0];
  const tokenSide = [dusd.address, deur.address, ...amounts, maker.address, await deadline(chain)];
  await send(chain, maker, call(router, "addLiquidity", tokenSide));

  const pairOf = async (a, b) => contractAt(await read(chain, factory, "getPair", [a.address, b.address]), PAIR);
  return { factory, router, pairWithEther: await pairOf(dusd, weth), pairOfTokens: await pairOf(dusd, deur) };
}

export async function useUniswapV2(chain, tokens, v2) {
  const { wallet } = chain.accounts;
  await allow(chain, wallet, tokens.dusd, v2.router);
  await allow(chain, wallet, v2.pairWithEther, v2.router);
  await swap(chain, tokens, v2);
  await provideLiquidity(chain, tokens, v2);
  await record(
    chain,
    "zero_value_call",
    "Asked a pair to compare its books with its balances, which moved nothing.",
    wallet,
    call(v2.pairWithEther, "sync"),
  );
}

async function swap(chain, { weth, dusd, deur }, { router }) {
  const { wallet } = chain.accounts;
  const toEuros = [dusd.address, deur.address];
  const toEther = [dusd.address, weth.address];
  const toDollars = [weth.address, dusd.address];
  const tail = async (path) => [path, wallet.address, await deadline(chain)];
  const quoted = async (amount, path) => (await read(chain, router, "getAmountsOut", [amount, path])).at(-1);
  const atLeast = async (amount, path) => ((await quoted(amount, path)) * 995n) / 1000n;
  const did = (name, why, method, args, fields, expected) =>
    record(chain, name, why, wallet, call(router, method, args, fields), expected);

  const spent = dollars("1000");
  await did("v2_swap_tokens", "Swapped 1,000 dUSD for dEUR.", "swapExactTokensForTokens", [
    spent,
    await atLeast(spent, toEuros),
    ...(await tail(toEuros)),
  ]);

  const value = ether("0.8");
  const etherIn = [await atLeast(value, toDollars), ...(await tail(toDollars))];
  await did("v2_swap_eth_in", "Swapped 0.8 ether for dUSD.", "swapExactETHForTokens", etherIn, { value });

  const exact = [dollars("900"), ...(await tail(toDollars))];
  const why = "Bought exactly 900 dUSD with ether and got the ether not needed back.";
  await did("v2_swap_eth_refund", why, "swapETHForExactTokens", exact, { value: ether("0.5") });

  const sold = dollars("600");
  const etherOut = [sold, await atLeast(sold, toEther), ...(await tail(toEther))];
  await did("v2_swap_eth_out", "Swapped 600 dUSD for ether.", "swapExactTokensForETH", etherOut);

  const greedy = [2n * (await quoted(value, toDollars)), ...(await tail(toDollars))];
  const failed = "Tried to swap 0.8 ether at a price that the pool no longer gave; only the fee was lost.";
  const doomed = { value, gasLimit: 200_000n };
  await did("reverted", failed, "swapExactETHForTokens", greedy, doomed, { reverts: true });
}

async function provideLiquidity(chain, { dusd }, { router, pairWithEther }) {
  const { wallet } = chain.accounts;
  const added = [dusd.address, dollars("3000"), 0, 0, wallet.address, await deadline(chain)];
  await record(
    chain,
    "v2_liquidity_add",
    "Put 3,000 dUSD and the matching ether into a pool; the ether too many came back.",
    wallet,
    call(router, "addLiquidityETH", added, { value: ether("1.2") }),
  );

  const shares = await read(chain, pairWithEther, "balanceOf", [wallet.address]);
  const removed = [dusd.address, shares / 2n, 0, 0, wallet.address, await deadline(chain)];
  await record(
    chain,
    "v2_liquidity_remove",
    "Took half of the pool share out again, as dUSD and ether.",
    wallet,
    call(router, "removeLiquidityETH", removed),
  );
}
