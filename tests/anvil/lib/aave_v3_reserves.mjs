// What makes a token lendable in an Aave v3 market: a price, an interest curve, risk limits, and three tokens of its own.

import { ZeroAddress, parseUnits, toQuantity } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, deploy, rpc, send } from "./chain.mjs";

const FLASH_LOAN_PREMIUM_BASIS_POINTS = 5;
/**
 * The configurator creates each reserve's tokens. WETH was the first on mainnet as it is here, so its tokens land on
 * their mainnet addresses; those that follow must not land on the addresses of some other token.
 */
const NONCE_PAST_MAINNET = 1_000_000;
const RESERVE_FACTOR_BASIS_POINTS = 1000;
const COLLATERAL = { loanToValue: 7500, liquidationThreshold: 8000, liquidationBonus: 10500 };

/** Aave's artifact of a contract whose file has the contract's name. */
export function aave(path) {
  const name = path.split("/").at(-1);
  return artifact(`@aave/core-v3/artifacts/contracts/${path}.sol/${name}.json`);
}

export async function deployOracle(chain, provider, reserves) {
  const { deployer } = chain.accounts;
  const feeds = [];
  for (const { price } of reserves) {
    const feed = aave("mocks/oracle/CLAggregators/MockAggregator");
    feeds.push(await deploy(chain, deployer, feed, [parseUnits(price, 8)]));
  }
  const addresses = (contracts) => contracts.map((contract) => contract.address);
  const tokens = reserves.map((reserve) => reserve.token);
  const sources = [addresses(tokens), addresses(feeds), ZeroAddress, ZeroAddress, parseUnits("1", 8)];
  const oracle = await deploy(chain, deployer, aave("misc/AaveOracle"), [provider.address, ...sources]);
  await send(chain, deployer, call(provider, "setPriceOracle", [oracle.address]));
}

export async function listReserves(chain, provider, pool, configurator, reserves) {
  const { deployer } = chain.accounts;
  const token = (name) => deploy(chain, deployer, aave(`protocol/tokenization/${name}`), [pool.address]);
  const shared = {
    aTokenImpl: (await token("AToken")).address,
    stableDebtTokenImpl: (await token("StableDebtToken")).address,
    variableDebtTokenImpl: (await token("VariableDebtToken")).address,
    interestRateStrategyAddress: (await deployInterestRates(chain, provider)).address,
    treasury: deployer.address,
    incentivesController: ZeroAddress,
    params: "0x",
  };
  const configure = (method, args) => send(chain, deployer, call(configurator, method, args));
  await configure("updateFlashloanPremiumTotal", [FLASH_LOAN_PREMIUM_BASIS_POINTS]);
  for (const reserve of reserves) {
    const asset = reserve.token.address;
    await configure("initReserves", [[{ ...shared, ...names(reserve) }]]);
    await configure("configureReserveAsCollateral", [asset, ...Object.values(COLLATERAL)]);
    await configure("setReserveBorrowing", [asset, true]);
    await configure("setReserveFlashLoaning", [asset, true]);
    await configure("setReserveFactor", [asset, RESERVE_FACTOR_BASIS_POINTS]);
    await rpc(chain, "anvil_setNonce", configurator.address, toQuantity(NONCE_PAST_MAINNET));
  }
}

/** Nobody borrows at a stable rate here, so its four parameters are zero. */
function deployInterestRates(chain, provider) {
  const ray = (percent) => parseUnits(percent, 25);
  const curve = [ray("80"), ray("1"), ray("4"), ray("60"), 0, 0, 0, 0, ray("20")];
  const strategy = aave("protocol/pool/DefaultReserveInterestRateStrategy");
  return deploy(chain, chain.accounts.deployer, strategy, [provider.address, ...curve]);
}

function names({ token, symbol, decimals }) {
  return {
    underlyingAsset: token.address,
    underlyingAssetDecimals: decimals,
    aTokenName: `Aave Ethereum ${symbol}`,
    aTokenSymbol: `aEth${symbol}`,
    variableDebtTokenName: `Aave Ethereum Variable Debt ${symbol}`,
    variableDebtTokenSymbol: `variableDebtEth${symbol}`,
    stableDebtTokenName: `Aave Ethereum Stable Debt ${symbol}`,
    stableDebtTokenSymbol: `stableDebtEth${symbol}`,
  };
}
