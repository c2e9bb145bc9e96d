// ERC-4337: the entry point of version 0.8 at its mainnet address, and two accounts whose operations a bundler sends.

import { concat, parseUnits, toBeHex } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, contractAt, deadline, deploy, read, record, send } from "./chain.mjs";
import { CREATE2_FACTORY, deployWithSalt } from "./placement.mjs";
import { dollars, ether } from "./tokens.mjs";

const ENTRY_POINT = artifact("@account-abstraction/contracts/artifacts/EntryPoint.json");
const ACCOUNT_FACTORY = artifact("@account-abstraction/contracts/artifacts/SimpleAccountFactory.json");
const ACCOUNT = artifact("@account-abstraction/contracts/artifacts/SimpleAccount.json");

const ON_MAINNET = {
  address: "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108",
  salt: "0x0a59dbff790c23c976a548690c27297883cc66b4c67024f9117b0238995e35e9",
};

const VERIFICATION_GAS = 400_000n;
const CALL_GAS = 250_000n;
const PRE_VERIFICATION_GAS = 50_000n;
const FEE_MAX = parseUnits("5", "gwei");
const PRIORITY_FEE = parseUnits("1", "gwei");

/** The factory answers only the entry point, so that the first operation of an account has to create it. */
export async function deployUserAccounts(chain, { dusd }) {
  const { deployer, wallet, friend, maker } = chain.accounts;
  const entryPoint = await deployWithSalt(chain, CREATE2_FACTORY, ON_MAINNET.salt, ON_MAINNET.address, ENTRY_POINT);
  const factory = await deploy(chain, deployer, ACCOUNT_FACTORY, [entryPoint.address]);

  const accounts = [];
  for (const owner of [wallet, friend]) {
    const born = [owner.address, 0];
    const account = { ...contractAt(await read(chain, factory, "getAddress", born), ACCOUNT), owner };
    await send(chain, owner, { to: account.address, value: ether("0.5") });
    await send(chain, maker, call(dusd, "transfer", [account.address, dollars("3000")]));
    const initCode = concat([factory.address, call(factory, "createAccount", born).data]);
    await bundled(chain, entryPoint, [await operation(chain, entryPoint, account, "0x", initCode)]);
    accounts.push(account);
  }
  const [ofWallet, ofFriend] = accounts;
  return { entryPoint, factory, ofWallet, ofFriend };
}

export async function useUserOperations(chain, { dusd, deur }, { entryPoint, ofWallet, ofFriend }, { router }) {
  const { friend, maker } = chain.accounts;
  const signed = (account, data) => operation(chain, entryPoint, account, data);
  const did = (name, why, operations) => bundled(chain, entryPoint, operations, { name, why, wallet: ofWallet });
  const pay = (account, to, amount) => {
    const { data } = call(dusd, "transfer", [to.address, dollars(amount)]);
    return signed(account, call(account, "execute", [dusd.address, 0, data]).data);
  };

  const path = [dusd.address, deur.address];
  const swapped = [dollars("800"), 0, path, ofWallet.address, await deadline(chain)];
  const steps = [
    call(dusd, "approve", [router.address, dollars("800")]),
    call(router, "swapExactTokensForTokens", swapped),
  ];
  const calls = steps.map(({ to, data }) => ({ target: to, value: 0, data }));
  const swap = await signed(ofWallet, call(ofWallet, "executeBatch", [calls]).data);
  await did("userop_swap", "Approved and swapped 800 dUSD for dEUR by a user operation.", [swap]);

  const paid = "Sent 90 dUSD to a friend by a user operation.";
  await did("userop_transfer", paid, [await pay(ofWallet, friend, "90")]);

  const both = [await pay(ofFriend, maker, "35"), await pay(ofWallet, friend, "60")];
  const why = "Sent 60 dUSD to a friend, in a bundle that also carried someone else's payment of 35 dUSD.";
  await did("userop_bundle_of_two", why, both);
}

/** Sends the operations in one transaction, recorded if it has a name. A failed operation does not fail its bundle. */
async function bundled(chain, entryPoint, operations, { name, why, wallet } = {}) {
  const { bundler } = chain.accounts;
  const request = call(entryPoint, "handleOps", [operations, bundler.address]);
  const sent = name ? record(chain, name, why, bundler, request, { wallet }) : send(chain, bundler, request);
  const logs = (await sent).logs.map((log) => entryPoint.abi.parseLog(log));
  const succeeded = logs.filter((log) => log?.name === "UserOperationEvent" && log.args.success);
  if (succeeded.length !== operations.length) throw new Error(`${name ?? "creation"}: an operation failed`);
}

async function operation(chain, entryPoint, account, callData, initCode = "0x") {
  const unsigned = {
    sender: account.address,
    nonce: await read(chain, entryPoint, "getNonce", [account.address, 0]),
    initCode,
    callData,
    accountGasLimits: pair(VERIFICATION_GAS, CALL_GAS),
    preVerificationGas: PRE_VERIFICATION_GAS,
    gasFees: pair(PRIORITY_FEE, FEE_MAX),
    paymasterAndData: "0x",
    signature: "0x",
  };
  const hash = await read(chain, entryPoint, "getUserOpHash", [unsigned]);
  return { ...unsigned, signature: account.owner.signingKey.sign(hash).serialized };
}

const pair = (high, low) => concat([toBeHex(high, 16), toBeHex(low, 16)]);
