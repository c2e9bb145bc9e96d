// The kinds of transaction that differ in their envelope rather than in what they call.

import { ZeroHash } from "ethers";

import { artifact, initCode } from "./artifacts.mjs";
import { call, contractAt, deploy, record, rpc } from "./chain.mjs";
import { dollars, ether } from "./tokens.mjs";

const VESTING_WALLET = artifact("@openzeppelin/contracts/build/contracts/VestingWallet.json");
const VESTING_START = 1_767_225_600;
const VESTING_SECONDS = 365 * 24 * 60 * 60;

export async function useEnvelopes(chain, { dusd }) {
  const { wallet, friend } = chain.accounts;
  const did = (name, why, request) => record(chain, name, why, wallet, request);

  const legacy = { type: 0, to: friend.address, value: ether("0.03") };
  await did("legacy_transfer", "Sent 0.03 ether with an old wallet, which sets one gas price.", legacy);

  const accessList = [{ address: dusd.address, storageKeys: [ZeroHash] }];
  const declared = { type: 1, to: friend.address, value: ether("0.04"), accessList };
  await did("access_list_transfer", "Sent 0.04 ether and declared in advance what would be read.", declared);

  const vesting = initCode(VESTING_WALLET, [friend.address, VESTING_START, VESTING_SECONDS], {});
  const why = "Deployed a vesting contract for a friend, still empty.";
  const receipt = await did("contract_deploy", why, { data: vesting });
  return contractAt(receipt.contractAddress, VESTING_WALLET);
}

/** Another account than the story's, because an account with code answers token transfers differently afterwards. */
export async function delegateAccount(chain, { dusd }, { BatchAccount }) {
  const { deployer, batcher, friend } = chain.accounts;
  const code = await deploy(chain, deployer, BatchAccount);

  const nonce = Number(await rpc(chain, "eth_getTransactionCount", batcher.address, "latest"));
  // Who sends the transaction has used one nonce by the time the authorization is checked.
  const authorization = await batcher.authorize({ address: code.address, nonce: nonce + 1, chainId: chain.chainId });
  const request = { type: 4, to: batcher.address, authorizationList: [authorization], gasLimit: 100_000n };
  const why = "Let the account run the code of a batching contract; nothing moved.";
  await record(chain, "set_code_7702", why, batcher, request);

  const account = { ...code, address: batcher.address };
  const payments = [
    { to: friend.address, value: ether("0.05"), data: "0x" },
    { value: 0n, ...call(dusd, "transfer", [friend.address, dollars("75")]) },
  ];
  const paid = "Paid a friend 0.05 ether and 75 dUSD in one transaction, through the borrowed code.";
  await record(chain, "batch_7702", paid, batcher, call(account, "execute", [payments]));
  return code;
}
