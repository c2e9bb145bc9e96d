// Uniswap v4: the pool manager at its mainnet address, one pool of ether and dUSD, and a swap by the universal router.

import { AbiCoder, ZeroAddress, ZeroHash, concat, toBeHex } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, deadline, deploy, record, send } from "./chain.mjs";
import { place } from "./placement.mjs";
import { allow, dollars, ether } from "./tokens.mjs";
import { sqrtPrice, squareRoot } from "./uniswap_v3_positions.mjs";

const POOL_MANAGER = artifact("@uniswap/v4-core/out/PoolManager.sol/PoolManager.json");
/** The package has no position manager. Its tests provide liquidity through this one. */
const LIQUIDITY = artifact("@uniswap/v4-core/out/PoolModifyLiquidityTest.sol/PoolModifyLiquidityTest.json");
const ROUTER = artifact("@uniswap/universal-router/artifacts/contracts/UniversalRouter.sol/UniversalRouter.json");
const POOL_MANAGER_ON_MAINNET = "0x000000000004444c5dc75cB358380D2e3dE08A90";

const FEE = 3000;
const SPACING = 60;
const HIGHEST_TICK = 887220;

const COMMAND_V4_SWAP = "0x10";
const ACTIONS = { swapExactInSingle: 0x06, settleAll: 0x0c, takeAll: 0x0f };
const POOL_KEY = "(address,address,uint24,int24,address)";
const EXACT_IN_SINGLE = `(${POOL_KEY},bool,uint128,uint128,bytes)`;

export async function deployUniswapV4(chain, { weth, dusd }) {
  const { deployer, maker } = chain.accounts;
  const manager = await place(chain, POOL_MANAGER_ON_MAINNET, POOL_MANAGER, [deployer.address]);
  const liquidity = await deploy(chain, deployer, LIQUIDITY, [manager.address]);
  const router = await deploy(chain, deployer, ROUTER, [routerParameters(weth, manager)]);

  const key = [ZeroAddress, dusd.address, FEE, SPACING, ZeroAddress];
  const [etherSide, dollarSide] = [ether("100"), dollars("300000")];
  await send(chain, maker, call(manager, "initialize", [key, sqrtPrice(etherSide, dollarSide)]));
  await allow(chain, maker, dusd, liquidity);
  const range = [-HIGHEST_TICK, HIGHEST_TICK, squareRoot(etherSide * dollarSide), ZeroHash];
  const method = `modifyLiquidity(${POOL_KEY},(int24,int24,int256,bytes32),bytes)`;
  await send(chain, maker, call(liquidity, method, [key, range, "0x"], { value: ether("101") }));
  return { manager, router, key };
}

export async function useUniswapV4(chain, { dusd }, { router, key }) {
  const value = ether("0.3");
  const least = dollars("880");
  const actions = concat(Object.values(ACTIONS).map((action) => toBeHex(action, 1)));
  const steps = [
    encoded([EXACT_IN_SINGLE], [[key, true, value, least, "0x"]]),
    encoded(["address", "uint256"], [ZeroAddress, value]),
    encoded(["address", "uint256"], [dusd.address, least]),
  ];
  const inputs = [encoded(["bytes", "bytes[]"], [actions, steps])];
  const method = "execute(bytes,bytes[],uint256)";
  const request = call(router, method, [COMMAND_V4_SWAP, inputs, await deadline(chain)], { value });
  await record(chain, "v4_swap", "Swapped 0.3 ether for dUSD on Uniswap v4.", chain.accounts.wallet, request);
}

/** The router refuses what its zero addresses would serve: permits, other versions' pools, and bridges. */
function routerParameters(weth, manager) {
  return {
    permit2: ZeroAddress,
    weth9: weth.address,
    v2Factory: ZeroAddress,
    v3Factory: ZeroAddress,
    pairInitCodeHash: ZeroHash,
    poolInitCodeHash: ZeroHash,
    v4PoolManager: manager.address,
    v3NFTPositionManager: ZeroAddress,
    v4PositionManager: ZeroAddress,
    spokePool: ZeroAddress,
  };
}

const encoded = (types, values) => AbiCoder.defaultAbiCoder().encode(types, values);
