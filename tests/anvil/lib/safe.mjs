// Safe 1.4.1: a wallet that is a contract, with one owner, from the contracts at their mainnet addresses.

import { ZeroAddress, ZeroHash, concat, dataLength, solidityPacked } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, contractAt, deadline, read, record, send } from "./chain.mjs";
import { copyCreate2Factory, deployWithSalt } from "./placement.mjs";
import { dollars, euros } from "./tokens.mjs";

const ARTIFACTS = "@safe-global/safe-contracts/build/artifacts/contracts";
const SAFE = artifact(`${ARTIFACTS}/Safe.sol/Safe.json`);
const PROXY_FACTORY = artifact(`${ARTIFACTS}/proxies/SafeProxyFactory.sol/SafeProxyFactory.json`);
const MULTI_SEND = artifact(`${ARTIFACTS}/libraries/MultiSend.sol/MultiSend.json`);
const HANDLER = artifact(`${ARTIFACTS}/handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json`);

const SINGLETON_FACTORY = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7";
const ON_MAINNET = {
  singleton: "0x41675C099F32341bf84BFc5382aF534df5C7461a",
  proxyFactory: "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67",
  multiSend: "0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526",
  handler: "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99",
};

const CALL = 0;
const DELEGATE_CALL = 1;
/** The Safe repays nobody for gas: no limit of its own, no price, no token and no receiver. */
const NO_REFUND = [0, 0, 0, ZeroAddress, ZeroAddress];

export async function deploySafe(chain, { dusd, deur }) {
  const { wallet, maker } = chain.accounts;
  await copyCreate2Factory(chain, SINGLETON_FACTORY);
  const at = (address, code) => deployWithSalt(chain, SINGLETON_FACTORY, ZeroHash, address, code);
  const singleton = await at(ON_MAINNET.singleton, SAFE);
  const proxyFactory = await at(ON_MAINNET.proxyFactory, PROXY_FACTORY);
  const multiSend = await at(ON_MAINNET.multiSend, MULTI_SEND);
  const handler = await at(ON_MAINNET.handler, HANDLER);

  const setup = [[wallet.address], 1, ZeroAddress, "0x", handler.address, ZeroAddress, 0, ZeroAddress];
  const created = [singleton.address, call(singleton, "setup", setup).data, 0];
  const account = contractAt(await read(chain, proxyFactory, "createProxyWithNonce", created), SAFE);
  await send(chain, wallet, call(proxyFactory, "createProxyWithNonce", created));
  await send(chain, maker, call(dusd, "transfer", [account.address, dollars("6000")]));
  await send(chain, maker, call(deur, "transfer", [account.address, euros("4000")]));
  return { singleton, proxyFactory, multiSend, account };
}

export async function useSafe(chain, { weth, dusd, deur }, { multiSend, account }, { router }) {
  const { wallet, friend } = chain.accounts;
  const did = async (name, why, inner, operation) =>
    record(chain, name, why, wallet, await executed(chain, account, inner, operation), { wallet: account });

  const paid = call(dusd, "transfer", [friend.address, dollars("250")]);
  await did("safe_transfer_token", "Sent 250 dUSD out of a Safe to a friend.", paid);

  const tail = async (path) => [path.map((token) => token.address), account.address, await deadline(chain)];
  await send(chain, wallet, await executed(chain, account, call(deur, "approve", [router.address, euros("1000")])));
  const swapped = [euros("1000"), 0, ...(await tail([deur, dusd]))];
  const swap = call(router, "swapExactTokensForTokens", swapped);
  await did("safe_swap", "Swapped 1,000 dEUR of a Safe for dUSD on Uniswap v2.", swap);

  const sold = [dollars("1500"), 0, ...(await tail([dusd, weth]))];
  const steps = [
    call(dusd, "approve", [router.address, dollars("1500")]),
    call(router, "swapExactTokensForETH", sold),
  ];
  const batch = call(multiSend, "multiSend", [concat(steps.map(packed))]);
  const why = "Approved 1,500 dUSD of a Safe and swapped them for ether, both in one batch.";
  await did("safe_multisend", why, batch, DELEGATE_CALL);
}

/** The owner's signed order to the Safe, as the transaction that carries it. */
async function executed(chain, safe, { to, data }, operation = CALL) {
  const { wallet } = chain.accounts;
  const order = [to, 0, data, operation, ...NO_REFUND];
  const nonce = await read(chain, safe, "nonce");
  const hash = await read(chain, safe, "getTransactionHash", [...order, nonce]);
  return call(safe, "execTransaction", [...order, wallet.signingKey.sign(hash).serialized]);
}

function packed({ to, data }) {
  const fields = [CALL, to, 0, dataLength(data), data];
  return solidityPacked(["uint8", "address", "uint256", "uint256", "bytes"], fields);
}
