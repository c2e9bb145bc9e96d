// Morpho and its vaults with the code that Morpho publishes. The vault keeps everything in a market that lends to nobody.

import { AbiCoder, ZeroAddress, keccak256 } from "ethers";

import { factoryArtifact } from "./artifacts.mjs";
import { call, deploy, passDays, send } from "./chain.mjs";
import { place } from "./placement.mjs";
import { dollars } from "./tokens.mjs";

const MORPHO = "0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb";
const ONE_DAY = 24 * 60 * 60;
const PACKAGE = "@morpho-org/morpho-blue-bundlers/types/factories/lib";

const Morpho = factoryArtifact(`${PACKAGE}/morpho-blue/src/Morpho__factory.js`);
const MetaMorpho = factoryArtifact(`${PACKAGE}/metamorpho/src/MetaMorpho__factory.js`);

/** Morpho at its address, with the market that only keeps. */
export async function deployMorpho(chain, asset) {
  const { deployer } = chain.accounts;
  const market = [asset.address, ZeroAddress, ZeroAddress, ZeroAddress, 0];
  const morpho = await place(chain, MORPHO, Morpho, [deployer.address]);
  await send(chain, deployer, call(morpho, "enableIrm", [ZeroAddress]));
  await send(chain, deployer, call(morpho, "enableLltv", [0]));
  await send(chain, deployer, call(morpho, "createMarket", [market]));
  return { morpho, market, asset };
}

export async function deployVault(chain, { morpho, market, asset }, owner, symbol) {
  const args = [owner.address, morpho.address, ONE_DAY, asset.address, `${symbol} vault`, symbol];
  const vault = await deploy(chain, owner, MetaMorpho, args);
  await send(chain, owner, call(vault, "submitCap", [market, dollars("1000000")]));
  await passDays(chain, 2);
  await send(chain, owner, call(vault, "acceptCap", [market]));
  const types = ["address", "address", "address", "address", "uint256"];
  const id = keccak256(AbiCoder.defaultAbiCoder().encode(types, market));
  await send(chain, owner, call(vault, "setSupplyQueue", [[id]]));
  return vault;
}
