// Non-fungible and semi-fungible tokens, from OpenZeppelin's presets.

import { id } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, deploy, record, send } from "./chain.mjs";

const ERC721 = artifact("@openzeppelin/contracts/build/contracts/ERC721PresetMinterPauserAutoId.json");
const ERC1155 = artifact("@openzeppelin/contracts/build/contracts/ERC1155PresetMinterPauser.json");

const MINTER_ROLE = id("MINTER_ROLE");

export async function deployCollectibles(chain) {
  const { deployer, wallet } = chain.accounts;
  const badges = await deploy(chain, deployer, ERC721, ["Demo Badge", "DBADGE", "ipfs://demo-badge/"]);
  await send(chain, deployer, call(badges, "grantRole", [MINTER_ROLE, wallet.address]));

  const items = await deploy(chain, deployer, ERC1155, ["ipfs://demo-items/{id}.json"]);
  const minted = [wallet.address, [1, 2, 3], [10, 20, 5], "0x"];
  await send(chain, deployer, call(items, "mintBatch", minted));
  return { badges, items };
}

export async function useCollectibles(chain, { badges, items }) {
  const { wallet, friend } = chain.accounts;
  const did = (name, why, request) => record(chain, name, why, wallet, request);
  const given = [wallet.address, friend.address];

  await did("nft_mint", "Minted a free badge.", call(badges, "mint", [wallet.address]));
  const badge = call(badges, "safeTransferFrom(address,address,uint256)", [...given, 0]);
  await did("nft_transfer", "Gave the badge to a friend.", badge);

  const some = call(items, "safeTransferFrom", [...given, 1, 4, "0x"]);
  await did("erc1155_transfer", "Gave four pieces of item 1 to a friend.", some);
  const several = call(items, "safeBatchTransferFrom", [...given, [2, 3], [7, 1], "0x"]);
  await did("erc1155_batch_transfer", "Gave pieces of items 2 and 3 to a friend at once.", several);
}
