// Contracts that lie: they keep what they are given, and log what a protocol that people trust would log.

import { call, deploy, record } from "./chain.mjs";
import { allow, dollars, ether } from "./tokens.mjs";

export async function deployForgeries(chain, { dusd }, { ForgedSupply, ForgedSwap }) {
  const { stranger, wallet } = chain.accounts;
  const supply = await deploy(chain, stranger, ForgedSupply);
  const swap = await deploy(chain, stranger, ForgedSwap);
  await allow(chain, wallet, dusd, supply);
  await allow(chain, wallet, dusd, swap);
  return { supply, swap };
}

export async function useForgeries(chain, { dusd }, { supply, swap }) {
  const { wallet } = chain.accounts;
  const did = (name, why, request) => record(chain, name, why, wallet, request);

  const supplied = call(supply, "supply", [dusd.address, dollars("110")]);
  const deposit = "Gave 110 dUSD to a contract that logged a deposit in Aave's words and kept them.";
  await did("forged_supply", deposit, supplied);

  const swapped = call(swap, "swap", [dusd.address, dollars("130"), ether("0.04")]);
  const trade = "Gave 130 dUSD to a contract that logged a Uniswap v2 swap and returned nothing.";
  await did("forged_swap", trade, swapped);
}
