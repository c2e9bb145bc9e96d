// Permit2 at its mainnet address, and a universal router that pays by it: the wallet signs a permit, and one transaction
// both presents it and swaps.

import { createRequire } from "node:module";

import { AbiCoder, ZeroAddress, ZeroHash } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, deadline, deploy, record, rpc } from "./chain.mjs";
import { allow, dollars } from "./tokens.mjs";

const ROUTER = artifact("@uniswap/universal-router/artifacts/contracts/UniversalRouter.sol/UniversalRouter.json");
/** The package ships the code as it stands on chain, not the code that deploys it. */
const { bytecode: PERMIT2_CODE } = createRequire(import.meta.url)("@1inch/solidity-utils/dist/src/permit2.json");
const PERMIT2_ON_MAINNET = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const PAIR_INIT_CODE_HASH = "0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f";

/** PERMIT2_PERMIT, then V2_SWAP_EXACT_IN. */
const COMMANDS = "0x0a08";
/** How the router names whoever called it. */
const CALLER = "0x0000000000000000000000000000000000000001";

const DETAILS = "(address token,uint160 amount,uint48 expiration,uint48 nonce)";
const PERMIT = `(${DETAILS} details,address spender,uint256 sigDeadline)`;
const SIGNED_TYPES = {
  PermitSingle: [
    { name: "details", type: "PermitDetails" },
    { name: "spender", type: "address" },
    { name: "sigDeadline", type: "uint256" },
  ],
  PermitDetails: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint160" },
    { name: "expiration", type: "uint48" },
    { name: "nonce", type: "uint48" },
  ],
};

export async function deployPermit2(chain, { weth }, v2) {
  await rpc(chain, "anvil_setCode", PERMIT2_ON_MAINNET, PERMIT2_CODE);
  const parameters = {
    permit2: PERMIT2_ON_MAINNET,
    weth9: weth.address,
    v2Factory: v2.factory.address,
    v3Factory: ZeroAddress,
    pairInitCodeHash: PAIR_INIT_CODE_HASH,
    poolInitCodeHash: ZeroHash,
    v4PoolManager: ZeroAddress,
    v3NFTPositionManager: ZeroAddress,
    v4PositionManager: ZeroAddress,
    spokePool: ZeroAddress,
  };
  return { address: PERMIT2_ON_MAINNET, router: await deploy(chain, chain.accounts.deployer, ROUTER, [parameters]) };
}

export async function usePermit2(chain, { dusd, deur }, permit2) {
  const { wallet } = chain.accounts;
  await allow(chain, wallet, dusd, permit2);
  const [amount, expiration] = [dollars("210"), await deadline(chain)];
  const details = { token: dusd.address, amount, expiration, nonce: 0 };
  const permit = { details, spender: permit2.router.address, sigDeadline: expiration };
  const domain = { name: "Permit2", chainId: chain.chainId, verifyingContract: permit2.address };
  const signature = await wallet.signTypedData(domain, SIGNED_TYPES, permit);
  const inputs = [
    encoded([PERMIT, "bytes"], [permit, signature]),
    encoded(
      ["address", "uint256", "uint256", "address[]", "bool"],
      [CALLER, amount, 0n, [dusd.address, deur.address], true],
    ),
  ];
  const request = call(permit2.router, "execute(bytes,bytes[],uint256)", [COMMANDS, inputs, expiration]);
  await record(chain, "permit2_swap", "Swapped 210 dUSD for dEUR, paid by a signed permit.", wallet, request);
}

const encoded = (types, values) => AbiCoder.defaultAbiCoder().encode(types, values);
