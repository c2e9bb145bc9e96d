// Uniswap v3 swaps through the router, each guarded by a quote as an app would do.

import { ZeroAddress, solidityPacked } from "ethers";

import { call, deadline, read, record, send } from "./chain.mjs";
import { allow, dollars, ether, euros } from "./tokens.mjs";

export async function swapOnUniswapV3(chain, { weth, dusd, deur }, { router, etherPool, tokenPool }) {
  const { wallet } = chain.accounts;
  await allow(chain, wallet, deur, router);

  const tokens = await single(chain, wallet, deur, dusd, tokenPool.fee, euros("750"));
  await swap(chain, "v3_swap_tokens", "Swapped 750 dEUR for dUSD.", router, tokens);

  const value = ether("0.6");
  const etherIn = await single(chain, wallet, weth, dusd, etherPool.fee, value);
  await swap(chain, "v3_swap_eth_in", "Swapped 0.6 ether for dUSD.", router, etherIn, { value });

  const hops = [deur.address, tokenPool.fee, dusd.address, etherPool.fee, weth.address];
  const path = solidityPacked(["address", "uint24", "address", "uint24", "address"], hops);
  // The router reads a zero recipient as itself, where the next call unwraps what arrived.
  const exact = [path, ZeroAddress, await deadline(chain), euros("1200"), 0];
  const quote = await read(chain, router, "exactInput", [exact], { from: wallet });
  const calls = [
    call(router, "exactInput", [exact]).data,
    call(router, "unwrapWETH9", [withSlippage(quote), wallet.address]).data,
  ];
  const why = "Swapped 1,200 dEUR for ether over two pools.";
  await record(chain, "v3_swap_eth_out", why, wallet, call(router, "multicall", [calls]));
}

/** Trades there and back, so that whoever provides liquidity earns a fee in both tokens. */
export async function tradeInTokenPool(chain, { dusd, deur }, { router, tokenPool }) {
  const { maker } = chain.accounts;
  const there = await single(chain, maker, dusd, deur, tokenPool.fee, dollars("20000"));
  await send(chain, maker, call(router, "exactInputSingle", [there]));
  const back = await single(chain, maker, deur, dusd, tokenPool.fee, euros("18000"));
  await send(chain, maker, call(router, "exactInputSingle", [back]));
}

async function swap(chain, name, why, router, params, fields = {}) {
  const { wallet } = chain.accounts;
  const quote = await read(chain, router, "exactInputSingle", [params], { from: wallet, ...fields });
  const guarded = { ...params, amountOutMinimum: withSlippage(quote) };
  await record(chain, name, why, wallet, call(router, "exactInputSingle", [guarded], fields));
}

async function single(chain, account, tokenIn, tokenOut, fee, amountIn) {
  return {
    tokenIn: tokenIn.address,
    tokenOut: tokenOut.address,
    fee,
    recipient: account.address,
    deadline: await deadline(chain),
    amountIn,
    amountOutMinimum: 0n,
    sqrtPriceLimitX96: 0n,
  };
}

const withSlippage = (amount) => (amount * 995n) / 1000n;
