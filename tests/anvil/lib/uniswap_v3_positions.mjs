// Uniswap v3 positions: liquidity within a price range, held as an NFT.

import { ZeroAddress } from "ethers";

import { call, deadline, read, record } from "./chain.mjs";
import { allow, dollars, ether, euros } from "./tokens.mjs";
import { tradeInTokenPool } from "./uniswap_v3_swaps.mjs";

const MAX_UINT128 = 2n ** 128n - 1n;
const RANGE_TICKS = 600;

export async function useUniswapV3Positions(chain, tokens, v3) {
  const { wallet } = chain.accounts;
  await allow(chain, wallet, tokens.dusd, v3.positions);
  await allow(chain, wallet, tokens.deur, v3.positions);
  await provideTokens(chain, tokens, v3);
  await provideEther(chain, tokens, v3);
}

/** A mint with ether ends with a refund, since the range decides how much of it the pool takes. */
export async function mint(chain, account, positions, pool, [first, second], [lower, upper], { value = 0n } = {}) {
  const params = {
    token0: first.token,
    token1: second.token,
    fee: pool.fee,
    tickLower: lower,
    tickUpper: upper,
    amount0Desired: first.amount,
    amount1Desired: second.amount,
    amount0Min: 0n,
    amount1Min: 0n,
    recipient: account.address,
    deadline: await deadline(chain),
  };
  const minted = call(positions, "mint", [params]);
  if (value === 0n) return minted;
  return call(positions, "multicall", [[minted.data, call(positions, "refundETH").data]], { value });
}

export function side(token, amount) {
  return { token: token.address, amount };
}

/** Pools order their tokens by address. */
export function sorted(sides) {
  return [...sides].sort((a, b) => (BigInt(a.token) < BigInt(b.token) ? -1 : 1));
}

/** The square root of the price in 64.96 fixed point, the form in which pools keep it. */
export function sqrtPrice(amount0, amount1) {
  return squareRoot((amount1 << 192n) / amount0);
}

async function provideTokens(chain, tokens, v3) {
  const { wallet } = chain.accounts;
  const { positions, tokenPool } = v3;
  const sides = sorted([side(tokens.dusd, dollars("4000")), side(tokens.deur, euros("3700"))]);
  const range = await rangeAroundPrice(chain, tokenPool);
  const minted = await mint(chain, wallet, positions, tokenPool, sides, range);
  await record(chain, "v3_liquidity_add", "Opened a position in the dUSD and dEUR pool.", wallet, minted);

  const id = await newestPosition(chain, wallet, positions);
  const half = (await liquidityOf(chain, positions, id)) / 2n;
  const closed = await takeOut(chain, positions, id, half, wallet.address);
  const why = "Took half of the position out and collected it.";
  await record(chain, "v3_liquidity_remove", why, wallet, call(positions, "multicall", [closed]));

  await tradeInTokenPool(chain, tokens, v3);
  const collected = call(positions, "collect", [everything(id, wallet.address)]);
  await record(chain, "v3_collect_fees", "Collected the fees that the position had earned.", wallet, collected);
}

async function provideEther(chain, { weth, dusd }, { positions, etherPool }) {
  const { wallet } = chain.accounts;
  const value = ether("1");
  const sides = sorted([side(dusd, dollars("2500")), side(weth, value)]);
  const range = await rangeAroundPrice(chain, etherPool);
  const minted = await mint(chain, wallet, positions, etherPool, sides, range, { value });
  const opened = "Opened a position in the dUSD and ether pool; the ether too many came back.";
  await record(chain, "v3_liquidity_add_eth", opened, wallet, minted);

  const id = await newestPosition(chain, wallet, positions);
  const all = await liquidityOf(chain, positions, id);
  // The position manager reads a zero recipient as itself, where the next calls unwrap and sweep what arrived.
  const calls = [
    ...(await takeOut(chain, positions, id, all, ZeroAddress)),
    call(positions, "unwrapWETH9", [0, wallet.address]).data,
    call(positions, "sweepToken", [dusd.address, 0, wallet.address]).data,
  ];
  const closed = "Closed the position and got dUSD and ether back.";
  await record(chain, "v3_liquidity_remove_eth", closed, wallet, call(positions, "multicall", [calls]));
}

async function takeOut(chain, positions, id, liquidity, recipient) {
  const decreased = [id, liquidity, 0, 0, await deadline(chain)];
  return [
    call(positions, "decreaseLiquidity", [decreased]).data,
    call(positions, "collect", [everything(id, recipient)]).data,
  ];
}

const everything = (id, recipient) => [id, recipient, MAX_UINT128, MAX_UINT128];

async function rangeAroundPrice(chain, pool) {
  const { tick } = await read(chain, pool, "slot0");
  const middle = Math.round(Number(tick) / pool.spacing) * pool.spacing;
  return [middle - RANGE_TICKS, middle + RANGE_TICKS];
}

async function newestPosition(chain, account, positions) {
  const count = await read(chain, positions, "balanceOf", [account.address]);
  return read(chain, positions, "tokenOfOwnerByIndex", [account.address, count - 1n]);
}

async function liquidityOf(chain, positions, id) {
  return (await read(chain, positions, "positions", [id])).liquidity;
}

/** Newton's method on integers, rounded down. */
export function squareRoot(value) {
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (guess + value / guess) / 2n;
    if (next >= guess) return guess;
    guess = next;
  }
}
