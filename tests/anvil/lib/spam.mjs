// What strangers do to a wallet in order to be noticed, none of which it asked for.

import { dataSlice, getAddress, id, parseUnits } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, deploy, record, send } from "./chain.mjs";
import { dollars } from "./tokens.mjs";

const MINTABLE = artifact("@aave/core-v3/artifacts/contracts/mocks/tokens/MintableERC20.sol/MintableERC20.json");

const AIRDROP_RECIPIENTS = 60;
const PLACE_OF_WALLET = 23;
/** How much of an address wallets show, at each end. */
const SHOWN_DIGITS = 4;

export async function deploySpam(chain, { SpamToken, FakeToken }) {
  const { stranger } = chain.accounts;
  const lure = ["Claim your reward at usdc-bonus.com", "visit usdc-bonus.com"];
  return {
    token: await deploy(chain, stranger, SpamToken, lure),
    fake: await deploy(chain, stranger, FakeToken, ["Demo Dollar", "dUSD"]),
    imitation: await deploy(chain, stranger, MINTABLE, ["USD Coin", "USDC", 6]),
  };
}

export async function sufferSpam(chain, { dusd }, { token, fake, imitation }) {
  const { wallet, friend, stranger } = chain.accounts;
  const suffered = (name, why, request) => record(chain, name, why, stranger, request, { wallet });

  const airdrop = call(token, "airdrop", [recipients(wallet), parseUnits("1000", 18)]);
  const lured = "Was one of 60 to receive a worthless token whose name lures to a website.";
  await suffered("spam_airdrop", lured, airdrop);

  const pretended = call(fake, "pretend", [wallet.address, stranger.address, dollars("120.5")]);
  const faked = "A worthless token logged that the wallet had paid a stranger; the wallet did nothing.";
  await suffered("fake_transfer", faked, pretended);

  const nothing = call(dusd, "transferFrom", [wallet.address, lookAlike(friend), 0]);
  const poisoned = "A stranger moved 0 dUSD from the wallet to an address that looks like a friend's.";
  await suffered("address_poisoning", poisoned, nothing);

  const minted = call(imitation, "mint(address,uint256)", [stranger.address, dollars("5000")]);
  await send(chain, stranger, minted);
  const given = call(imitation, "transfer", [wallet.address, dollars("2500")]);
  await suffered("usdc_imitation_receipt", "Received 2,500 of a worthless token that calls itself USDC.", given);
}

function recipients(wallet) {
  const others = Array.from({ length: AIRDROP_RECIPIENTS - 1 }, (_, index) => madeUp(`recipient ${index}`));
  return others.toSpliced(PLACE_OF_WALLET, 0, wallet.address);
}

function lookAlike({ address }) {
  const digits = address.slice(2).toLowerCase();
  const middle = madeUp("look-alike").slice(2 + SHOWN_DIGITS, -SHOWN_DIGITS).toLowerCase();
  return getAddress(`0x${digits.slice(0, SHOWN_DIGITS)}${middle}${digits.slice(-SHOWN_DIGITS)}`);
}

const madeUp = (label) => getAddress(dataSlice(id(label), 0, 20));
