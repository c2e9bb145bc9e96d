// Ether, wrapped ether and two fungible tokens: one with 6 decimals, one with 18, so that a mixed-up scale shows.

import { parseEther, parseUnits } from "ethers";

import { artifact } from "./artifacts.mjs";
import { MAX_UINT256, call, deploy, deployAsOnMainnet, record, send } from "./chain.mjs";

const WETH9 = artifact("@uniswap/v2-periphery/build/WETH9.json");
const MINTABLE = artifact("@aave/core-v3/artifacts/contracts/mocks/tokens/MintableERC20.sol/MintableERC20.json");
const FIXED_SUPPLY = artifact("@openzeppelin/contracts/build/contracts/ERC20PresetFixedSupply.json");

const WETH_ON_MAINNET = {
  address: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
  deployer: "0x4F26FfBe5F04ED43630fdC30A87638d53D0b0876",
  nonce: 446,
};

export const ether = parseEther;
export const dollars = (amount) => parseUnits(amount, 6);
export const euros = (amount) => parseUnits(amount, 18);

/** The maker holds enough of everything to stand on the other side of each trade. */
export async function deployTokens(chain) {
  const { deployer, wallet, maker, batcher } = chain.accounts;
  const weth = await deployAsOnMainnet(chain, WETH_ON_MAINNET, WETH9);
  const dusd = await deploy(chain, deployer, MINTABLE, ["Demo Dollar", "dUSD", 6]);
  const deur = await deploy(chain, deployer, FIXED_SUPPLY, ["Demo Euro", "dEUR", euros("20000000"), maker.address]);

  const mint = (to, amount) => send(chain, deployer, call(dusd, "mint(address,uint256)", [to.address, dollars(amount)]));
  await mint(maker, "20000000");
  await mint(wallet, "50000");
  await mint(batcher, "1000");
  return { weth, dusd, deur };
}

export async function payAndReceive(chain, { weth, dusd, deur }, spender) {
  const { wallet, friend, maker } = chain.accounts;
  const did = (name, why, request) => record(chain, name, why, wallet, request);
  const received = (name, why, from, request) => record(chain, name, why, from, request, { wallet });

  await did("plain_transfer", "Sent 0.25 ether to a friend.", { to: friend.address, value: ether("0.25") });
  await received("plain_receipt", "Received 0.1 ether from a friend.", friend, {
    to: wallet.address,
    value: ether("0.1"),
  });
  await received(
    "token_receipt",
    "Received 40,000 dEUR from someone else.",
    maker,
    call(deur, "transfer", [wallet.address, euros("40000")]),
  );
  await did("token_transfer", "Sent 120.5 dUSD to a friend.", call(dusd, "transfer", [friend.address, dollars("120.5")]));

  const allowance = (amount) => call(dusd, "approve", [spender.address, amount]);
  await did("approval", "Allowed the Uniswap v2 router to spend 5,000 dUSD.", allowance(dollars("5000")));
  await did("revoke", "Took the Uniswap v2 router's allowance for dUSD away.", allowance(0n));

  await did("weth_wrap", "Wrapped 6 ether.", call(weth, "deposit", [], { value: ether("6") }));
  await did("weth_unwrap", "Unwrapped 1.5 ether.", call(weth, "withdraw", [ether("1.5")]));
}

/** The allowance that every protocol needs first. It is not part of the story, hence not recorded. */
export async function allow(chain, owner, token, spender) {
  await send(chain, owner, call(token, "approve", [spender.address, MAX_UINT256]));
}
