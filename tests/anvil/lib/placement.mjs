// Contracts at the addresses where mainnet has them, for those that no impersonated deployer can put there.

import { concat, toQuantity } from "ethers";

import { initCode } from "./artifacts.mjs";
import { contractAt, rpc, send } from "./chain.mjs";

/** Anvil starts with this factory in place. Its caller passes a salt, followed by the code to deploy. */
export const CREATE2_FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

/** Deploys through a CREATE2 factory: mainnet's address comes out only if the code is mainnet's to the last byte. */
export async function deployWithSalt(chain, factory, salt, address, artifact) {
  const request = { to: factory, data: concat([salt, initCode(artifact, [], {})]) };
  await send(chain, chain.accounts.deployer, request);
  if ((await codeAt(chain, address)) === "0x") throw new Error(`not at ${address}`);
  return contractAt(address, artifact);
}

/** A second factory with the same code, which the makers of Safe deployed on every chain. */
export async function copyCreate2Factory(chain, address) {
  await rpc(chain, "anvil_setCode", address, await codeAt(chain, CREATE2_FACTORY));
}

/**
 * Puts a contract at an address of choice, whoever deployed it there on mainnet. The constructor runs as if it were the
 * contract's code: what it returns becomes the code, with immutables that know the address, and what it stores stays.
 * `nonce` decides the address of what the contract creates next.
 */
export async function place(chain, address, artifact, args, { nonce = 1 } = {}) {
  await rpc(chain, "anvil_setCode", address, initCode(artifact, args, {}));
  await rpc(chain, "anvil_setNonce", address, toQuantity(1));
  const code = await rpc(chain, "eth_call", { to: address }, "latest");
  await send(chain, chain.accounts.deployer, { to: address });
  await rpc(chain, "anvil_setCode", address, code);
  if (nonce > 1) await rpc(chain, "anvil_setNonce", address, toQuantity(nonce));
  return contractAt(address, artifact);
}

function codeAt(chain, address) {
  return rpc(chain, "eth_getCode", address, "latest");
}
