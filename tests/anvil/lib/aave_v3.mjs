// Aave v3: a whole market with two reserves, its pool and configurator at their mainnet addresses.

import { toQuantity, zeroPadValue } from "ethers";

import { aave, deployOracle, listReserves } from "./aave_v3_reserves.mjs";
import { artifact } from "./artifacts.mjs";
import { MAX_UINT256, call, contractAt, deploy, passDays, read, record, rpc, send } from "./chain.mjs";
import { allow, dollars, ether } from "./tokens.mjs";

const FLASH_RECEIVER = artifact(
  "@aave/core-v3/artifacts/contracts/mocks/flashloan/MockSimpleFlashLoanReceiver.sol/MockFlashLoanSimpleReceiver.json",
);

const POOL_LIBRARIES = ["BorrowLogic", "BridgeLogic", "EModeLogic", "LiquidationLogic", "PoolLogic", "SupplyLogic"];
const ADDRESSES_PROVIDER_ON_MAINNET = "0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e";
const VARIABLE_RATE = 2;

export async function deployAaveV3(chain, { weth, dusd }) {
  const { deployer, maker } = chain.accounts;
  const provider = await placeAddressesProvider(chain);
  const pool = await deployPool(chain, provider);
  const configurator = await deployConfigurator(chain, provider);

  const reserves = [
    { token: weth, symbol: "WETH", decimals: 18, price: "3000" },
    { token: dusd, symbol: "dUSD", decimals: 6, price: "1" },
  ];
  await deployOracle(chain, provider, reserves);
  await listReserves(chain, provider, pool, configurator, reserves);

  await allow(chain, maker, dusd, pool);
  await send(chain, maker, call(pool, "supply", [dusd.address, dollars("250000"), maker.address, 0]));
  const receiver = await deploy(chain, deployer, FLASH_RECEIVER, [provider.address]);
  const ofWeth = await read(chain, pool, "getReserveData", [weth.address]);
  const ofDusd = await read(chain, pool, "getReserveData", [dusd.address]);
  const tokens = { aWeth: ofWeth.aTokenAddress, aDusd: ofDusd.aTokenAddress, debt: ofDusd.variableDebtTokenAddress };
  return { provider, pool, configurator, receiver, tokens };
}

export async function useAaveV3(chain, { weth, dusd }, { pool, receiver }) {
  const { wallet } = chain.accounts;
  const did = (name, why, method, args) => record(chain, name, why, wallet, call(pool, method, args));
  await allow(chain, wallet, weth, pool);
  await allow(chain, wallet, dusd, pool);

  const supplied = [weth.address, ether("2"), wallet.address, 0];
  await did("aave_supply", "Deposited 2 WETH as collateral.", "supply", supplied);
  const borrowed = [dusd.address, dollars("1500"), VARIABLE_RATE, 0, wallet.address];
  await did("aave_borrow", "Borrowed 1,500 dUSD at the variable rate.", "borrow", borrowed);

  await passDays(chain, 30);
  const repaid = [dusd.address, MAX_UINT256, VARIABLE_RATE, wallet.address];
  await did("aave_repay", "Repaid the whole loan with a month of interest.", "repay", repaid);
  const withdrawn = [weth.address, MAX_UINT256, wallet.address];
  await did("aave_withdraw", "Took the whole collateral back.", "withdraw", withdrawn);

  const flash = [receiver.address, dusd.address, dollars("10000"), "0x", 0];
  const why = "Had a contract of theirs borrow 10,000 dUSD and return it within the same transaction.";
  await did("aave_flash_loan", why, "flashLoanSimple", flash);
}

/**
 * The provider creates the pool, so the pool's address follows from the provider's. Who deployed the provider is not
 * known here, but it has no immutables: its code and its owner are all that it starts with.
 */
async function placeAddressesProvider(chain) {
  const { deployer } = chain.accounts;
  const code = aave("protocol/configuration/PoolAddressesProvider");
  const original = await deploy(chain, deployer, code, ["Original", deployer.address]);
  const address = ADDRESSES_PROVIDER_ON_MAINNET;
  const ownerSlot = zeroPadValue("0x00", 32);
  await rpc(chain, "anvil_setCode", address, await rpc(chain, "eth_getCode", original.address, "latest"));
  await rpc(chain, "anvil_setStorageAt", address, ownerSlot, zeroPadValue(deployer.address, 32));
  await rpc(chain, "anvil_setNonce", address, toQuantity(1));

  const provider = contractAt(address, code);
  await send(chain, deployer, call(provider, "setMarketId", ["Aave Ethereum Market"]));
  return provider;
}

async function deployPool(chain, provider) {
  const { deployer } = chain.accounts;
  const code = aave("protocol/pool/Pool");
  const libraries = {};
  for (const name of POOL_LIBRARIES) {
    libraries[name] = await deploy(chain, deployer, aave(`protocol/libraries/logic/${name}`));
  }
  const flashLoans = aave("protocol/libraries/logic/FlashLoanLogic");
  libraries.FlashLoanLogic = await deploy(chain, deployer, flashLoans, [], libraries);
  const implementation = await deploy(chain, deployer, code, [provider.address], libraries);
  await send(chain, deployer, call(provider, "setPoolImpl", [implementation.address]));
  return contractAt(await read(chain, provider, "getPool"), code);
}

async function deployConfigurator(chain, provider) {
  const { deployer } = chain.accounts;
  const code = aave("protocol/pool/PoolConfigurator");
  const ConfiguratorLogic = await deploy(chain, deployer, aave("protocol/libraries/logic/ConfiguratorLogic"));
  const implementation = await deploy(chain, deployer, code, [], { ConfiguratorLogic });
  await send(chain, deployer, call(provider, "setPoolConfiguratorImpl", [implementation.address]));

  await send(chain, deployer, call(provider, "setACLAdmin", [deployer.address]));
  const roles = await deploy(chain, deployer, aave("protocol/configuration/ACLManager"), [provider.address]);
  await send(chain, deployer, call(provider, "setACLManager", [roles.address]));
  await send(chain, deployer, call(roles, "addPoolAdmin", [deployer.address]));
  return contractAt(await read(chain, provider, "getPoolConfigurator"), code);
}
