// Usage: node scenario.mjs RPC_URL
//
// Deploys real protocol bytecode to a fresh anvil, does there what people do on mainnet, and prints one JSON document
// that names every transaction. Progress goes to stderr.
//
// With `anvil --timestamp SECONDS` two runs give the same hashes: accounts, nonces, fees and block times are all fixed.

import { deployAaveV3, useAaveV3 } from "./lib/aave_v3.mjs";
import { connect } from "./lib/chain.mjs";
import { deployCollectibles, useCollectibles } from "./lib/collectibles.mjs";
import { compileContracts } from "./lib/compile.mjs";
import { delegateAccount, useEnvelopes } from "./lib/envelopes.mjs";
import { deployTokens, payAndReceive } from "./lib/tokens.mjs";
import { deployUniswapV2, useUniswapV2 } from "./lib/uniswap_v2.mjs";
import { deployUniswapV3 } from "./lib/uniswap_v3.mjs";
import { useUniswapV3Positions } from "./lib/uniswap_v3_positions.mjs";
import { swapOnUniswapV3 } from "./lib/uniswap_v3_swaps.mjs";
import { deployVault, useVault } from "./lib/vault.mjs";

const url = process.argv[2];
if (!url) {
  console.error("usage: node scenario.mjs RPC_URL");
  process.exit(2);
}

const compiling = compileContracts();
const chain = await connect(url);

const tokens = await deployTokens(chain);
const v2 = await deployUniswapV2(chain, tokens);
const v3 = await deployUniswapV3(chain, tokens);
const aave = await deployAaveV3(chain, tokens);
const collectibles = await deployCollectibles(chain);

await payAndReceive(chain, tokens, v2.router);
await useUniswapV2(chain, tokens, v2);
await swapOnUniswapV3(chain, tokens, v3);
await useUniswapV3Positions(chain, tokens, v3);
await useAaveV3(chain, tokens, aave);
await useCollectibles(chain, collectibles);
const vesting = await useEnvelopes(chain, tokens);

const compiled = await compiling;
const vault = await deployVault(chain, tokens, compiled);
await useVault(chain, tokens, vault);
const batchAccount = await delegateAccount(chain, tokens, compiled);

const contracts = {
  weth: tokens.weth,
  dusd: tokens.dusd,
  deur: tokens.deur,
  v2_factory: v2.factory,
  v2_router: v2.router,
  v2_pair_dusd_weth: v2.pairWithEther,
  v2_pair_dusd_deur: v2.pairOfTokens,
  v3_factory: v3.factory,
  v3_router: v3.router,
  v3_positions: v3.positions,
  v3_pool_dusd_weth: v3.etherPool,
  v3_pool_dusd_deur: v3.tokenPool,
  aave_addresses_provider: aave.provider,
  aave_pool: aave.pool,
  aave_pool_configurator: aave.configurator,
  aave_weth: { address: aave.tokens.aWeth },
  aave_dusd: { address: aave.tokens.aDusd },
  aave_variable_debt_dusd: { address: aave.tokens.debt },
  aave_flash_loan_receiver: aave.receiver,
  vault,
  nft: collectibles.badges,
  erc1155: collectibles.items,
  vesting_wallet: vesting,
  batch_account: batchAccount,
};
const addresses = Object.entries({ ...contracts, ...chain.accounts }).map(([name, { address }]) => [name, address]);

const document = {
  chain_id: Number(chain.chainId),
  addresses: Object.fromEntries(addresses),
  wallet: chain.accounts.wallet.address,
  transactions: chain.transactions,
};
console.log(JSON.stringify(document, null, 2));
