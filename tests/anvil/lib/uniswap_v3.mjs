// Uniswap v3: factory, router and position manager at their mainnet addresses, and two pools.

import { encodeBytes32String } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, contractAt, deployAsOnMainnet, read, send } from "./chain.mjs";
import { allow, dollars, ether, euros } from "./tokens.mjs";
import { mint, side, sorted, sqrtPrice } from "./uniswap_v3_positions.mjs";

const PERIPHERY = "@uniswap/v3-periphery/artifacts/contracts";
const FACTORY = artifact("@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json");
const POOL = artifact("@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json");
const ROUTER = artifact(`${PERIPHERY}/SwapRouter.sol/SwapRouter.json`);
const POSITIONS = artifact(`${PERIPHERY}/NonfungiblePositionManager.sol/NonfungiblePositionManager.json`);
const DESCRIPTOR = artifact(
  `${PERIPHERY}/NonfungibleTokenPositionDescriptor.sol/NonfungibleTokenPositionDescriptor.json`,
);
const DRAWING = artifact(`${PERIPHERY}/libraries/NFTDescriptor.sol/NFTDescriptor.json`);

const DEPLOYER = "0x6C9FC64A53c1b71FB3f9Af64d1ae3A4931A5f4E9";
const ON_MAINNET = {
  factory: { address: "0x1F98431c8aD98523631AE4a59f267346ea31F984", deployer: DEPLOYER, nonce: 0 },
  router: { address: "0xE592427A0AEce92De3Edee1F18E0157C05861564", deployer: DEPLOYER, nonce: 4 },
  drawing: { address: "0x42B24A95702b9986e82d421cC3568932790A48Ec", deployer: DEPLOYER, nonce: 5 },
  descriptor: { address: "0x91ae842A5Ffd8d12023116943e72A606179294f3", deployer: DEPLOYER, nonce: 6 },
  positions: { address: "0xC36442b4a4522E871399CD717aBDD847Ab11FE88", deployer: DEPLOYER, nonce: 8 },
};

/** Fees in hundredths of a basis point. The spacing is what the factory fixes for each. */
const ETHER_POOL = { fee: 3000, spacing: 60 };
const TOKEN_POOL = { fee: 500, spacing: 10 };
const HIGHEST_TICK = 887272;

export async function deployUniswapV3(chain, { weth, dusd, deur }) {
  const at = (place, code, args, libraries) => deployAsOnMainnet(chain, place, code, args, libraries);
  const factory = await at(ON_MAINNET.factory, FACTORY);
  const router = await at(ON_MAINNET.router, ROUTER, [factory.address, weth.address]);
  const NFTDescriptor = await at(ON_MAINNET.drawing, DRAWING);
  const label = [weth.address, encodeBytes32String("ETH")];
  const descriptor = await at(ON_MAINNET.descriptor, DESCRIPTOR, label, { NFTDescriptor });
  const known = [factory.address, weth.address, descriptor.address];
  const positions = await at(ON_MAINNET.positions, POSITIONS, known);

  const v3 = { factory, router, positions };
  const { maker } = chain.accounts;
  for (const token of [dusd, deur]) {
    await allow(chain, maker, token, positions);
    await allow(chain, maker, token, router);
  }
  const etherSides = [side(dusd, dollars("900000")), side(weth, ether("300"))];
  const tokenSides = [side(dusd, dollars("540000")), side(deur, euros("500000"))];
  return {
    ...v3,
    etherPool: await openPool(chain, v3, ETHER_POOL, etherSides, { value: ether("301") }),
    tokenPool: await openPool(chain, v3, TOKEN_POOL, tokenSides),
  };
}

/** Creates a pool at the price that the two sides imply and fills it over the whole range. */
async function openPool(chain, { factory, positions }, { fee, spacing }, sides, fields = {}) {
  const { maker } = chain.accounts;
  const [first, second] = sorted(sides);
  const opened = [first.token, second.token, fee, sqrtPrice(first.amount, second.amount)];
  await send(chain, maker, call(positions, "createAndInitializePoolIfNecessary", opened));
  const address = await read(chain, factory, "getPool", [first.token, second.token, fee]);
  const edge = HIGHEST_TICK - (HIGHEST_TICK % spacing);
  const pool = { ...contractAt(address, POOL), fee, spacing };
  await send(chain, maker, await mint(chain, maker, positions, pool, sorted(sides), [-edge, edge], fields));
  return pool;
}
