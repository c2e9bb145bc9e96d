// Seaport 1.6 and its conduit controller at their mainnet addresses: badges bought for ether and sold for WETH.

import { ZeroAddress, ZeroHash } from "ethers";

import { artifact } from "./artifacts.mjs";
import { call, deadline, read, record, send } from "./chain.mjs";
import { place } from "./placement.mjs";
import { allow, ether } from "./tokens.mjs";

const ARTIFACTS = "@opensea/seaport-js/src/artifacts/seaport/contracts";
const SEAPORT = artifact(`${ARTIFACTS}/Seaport.sol/Seaport.json`);
const CONDUIT_CONTROLLER = artifact(`${ARTIFACTS}/conduit/ConduitController.sol/LocalConduitController.json`);
const ON_MAINNET = {
  seaport: "0x0000000000000068F116a894984e2DB1123eB395",
  conduitController: "0x00000000F9490004C11Cef243f5400493c00Ad63",
};

const NATIVE = 0;
const ERC20 = 1;
const ERC721 = 2;
const FULL_OPEN = 0;
/** The market keeps one part in forty. */
const FEE_DIVISOR = 40n;
const BADGES_FOR_SALE = [1, 2, 3];

const AMOUNTS = ["uint256 startAmount", "uint256 endAmount"];
const ITEM = ["uint8 itemType", "address token", "uint256 identifierOrCriteria", ...AMOUNTS];
/** An order's parameters, with the signer's counter in place of the number of items. */
const SIGNED_TYPES = {
  OrderComponents: fields([
    "address offerer",
    "address zone",
    "OfferItem[] offer",
    "ConsiderationItem[] consideration",
    "uint8 orderType",
    "uint256 startTime",
    "uint256 endTime",
    "bytes32 zoneHash",
    "uint256 salt",
    "bytes32 conduitKey",
    "uint256 counter",
  ]),
  OfferItem: fields(ITEM),
  ConsiderationItem: fields([...ITEM, "address recipient"]),
};

export async function deploySeaport(chain, { weth }, { badges }) {
  const { deployer, maker } = chain.accounts;
  const conduitController = await place(chain, ON_MAINNET.conduitController, CONDUIT_CONTROLLER, []);
  const seaport = await place(chain, ON_MAINNET.seaport, SEAPORT, [conduitController.address]);

  for (const _ of BADGES_FOR_SALE) await send(chain, deployer, call(badges, "mint", [maker.address]));
  await send(chain, maker, call(badges, "setApprovalForAll", [seaport.address, true]));
  await send(chain, maker, call(weth, "deposit", [], { value: ether("5") }));
  await allow(chain, maker, weth, seaport);
  return { seaport, conduitController };
}

export async function useSeaport(chain, { weth }, { badges }, { seaport }) {
  const { wallet } = chain.accounts;
  const did = (name, why, method, args, fields) =>
    record(chain, name, why, wallet, call(seaport, method, args, fields));
  const badge = (number) => ({ itemType: ERC721, token: badges.address, number, amount: 1n });
  const etherOf = (amount) => ({ itemType: NATIVE, token: ZeroAddress, number: 0, amount: ether(amount) });
  const [first, second, third] = BADGES_FOR_SALE;

  const listed = await order(chain, seaport, badge(first), etherOf("0.4"));
  const bought = "Bought a badge for 0.4 ether, of which the market kept 0.01.";
  await did("seaport_buy", bought, "fulfillOrder", [listed, ZeroHash], { value: ether("0.4") });

  await send(chain, wallet, call(badges, "setApprovalForAll", [seaport.address, true]));
  // Whoever accepts an offer pays the market's fee out of what arrives, hence the allowance.
  await allow(chain, wallet, weth, seaport);
  const payment = { itemType: ERC20, token: weth.address, number: 0, amount: ether("0.6") };
  const offered = await order(chain, seaport, payment, badge(first));
  const sold = "Sold the badge for 0.6 WETH by accepting an offer, less the market's fee of 0.015.";
  await did("seaport_sell_by_offer", sold, "fulfillOrder", [offered, ZeroHash]);

  const orders = [
    await order(chain, seaport, badge(second), etherOf("0.2")),
    await order(chain, seaport, badge(third), etherOf("0.3")),
  ];
  const several = "Bought two badges for 0.5 ether in one transaction.";
  await did("seaport_buy_batch", several, "fulfillAvailableOrders", batch(orders), { value: ether("0.5") });
}

/** The maker's signed order. The market's fee is a part of the money, on whichever side that stands. */
async function order(chain, seaport, given, wanted) {
  const { maker, deployer: market } = chain.accounts;
  const isSale = given.itemType === ERC721;
  const money = isSale ? wanted : given;
  const fee = { ...money, amount: money.amount / FEE_DIVISOR };
  const main = isSale ? { ...wanted, amount: wanted.amount - fee.amount } : wanted;
  const parameters = {
    offerer: maker.address,
    zone: ZeroAddress,
    offer: [item(given)],
    consideration: [
      { ...item(main), recipient: maker.address },
      { ...item(fee), recipient: market.address },
    ],
    orderType: FULL_OPEN,
    startTime: 0,
    endTime: await deadline(chain),
    zoneHash: ZeroHash,
    salt: 0,
    conduitKey: ZeroHash,
  };
  const counter = await read(chain, seaport, "getCounter", [maker.address]);
  const domain = { name: "Seaport", version: "1.6", chainId: chain.chainId, verifyingContract: seaport.address };
  const signature = await maker.signTypedData(domain, SIGNED_TYPES, { ...parameters, counter });
  const totalOriginalConsiderationItems = parameters.consideration.length;
  return { parameters: { ...parameters, totalOriginalConsiderationItems }, signature };
}

function item({ itemType, token, number, amount }) {
  return { itemType, token, identifierOrCriteria: number, startAmount: amount, endAmount: amount };
}

/** Orders side by side: each item is fulfilled for itself, and payments to one recipient go out together. */
function batch(orders) {
  const component = (orderIndex, itemIndex) => ({ orderIndex, itemIndex });
  const offers = orders.map((_, index) => [component(index, 0)]);
  const payments = [0, 1].map((itemIndex) => orders.map((_, index) => component(index, itemIndex)));
  return [orders, offers, payments, ZeroHash, orders.length];
}

function fields(declarations) {
  return declarations.map((declaration) => {
    const [type, name] = declaration.split(" ");
    return { type, name };
  });
}
