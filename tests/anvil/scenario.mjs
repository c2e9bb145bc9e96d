// Usage: node scenario.mjs RPC_URL
//
// Deploys real protocol bytecode to a fresh anvil, does there what people do on mainnet, and prints one JSON document
// that names every transaction. Progress goes to stderr.
//
// With `anvil --timestamp SECONDS` two runs give the same hashes: accounts, nonces, fees and block times are all fixed.

import { deployAaveV3, useAaveV3 } from "./lib/aave_v3.mjs";
import { deployBalancerV2, useBalancerV2 } from "./lib/balancer_v2.mjs";
import { connect } from "./lib/chain.mjs";
import { deployCollectibles, useCollectibles } from "./lib/collectibles.mjs";
import { compileContracts } from "./lib/compile.mjs";
import { delegateAccount, useEnvelopes } from "./lib/envelopes.mjs";
import { deployForgeries, useForgeries } from "./lib/forgeries.mjs";
import { deployForks, useForks } from "./lib/forks.mjs";
import { deployPermit2, usePermit2 } from "./lib/permit2.mjs";
import { deploySafe, useSafe } from "./lib/safe.mjs";
import { deploySeaport, useSeaport } from "./lib/seaport.mjs";
import { deploySpam, sufferSpam } from "./lib/spam.mjs";
import { deployTokens, payAndReceive } from "./lib/tokens.mjs";
import { deployUniswapV2, useUniswapV2 } from "./lib/uniswap_v2.mjs";
import { deployUniswapV3 } from "./lib/uniswap_v3.mjs";
import { useUniswapV3Positions } from "./lib/uniswap_v3_positions.mjs";
import { swapOnUniswapV3 } from "./lib/uniswap_v3_swaps.mjs";
import { deployUniswapV4, useUniswapV4 } from "./lib/uniswap_v4.mjs";
import { deployUserAccounts, useUserOperations } from "./lib/user_operations.mjs";
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

// Hashes depend on nonces and block times: whatever is new goes below, so that those above stay as they are.
const safe = await deploySafe(chain, tokens);
await useSafe(chain, tokens, safe, v2);
const users = await deployUserAccounts(chain, tokens);
await useUserOperations(chain, tokens, users, v2);
const market = await deploySeaport(chain, tokens, collectibles);
await useSeaport(chain, tokens, collectibles, market);
const balancer = await deployBalancerV2(chain, tokens);
await useBalancerV2(chain, tokens, balancer);
const v4 = await deployUniswapV4(chain, tokens);
await useUniswapV4(chain, tokens, v4);
const forks = await deployForks(chain, tokens, compiled);
await useForks(chain, tokens, forks);
const forgeries = await deployForgeries(chain, tokens, compiled);
await useForgeries(chain, tokens, forgeries);
const spam = await deploySpam(chain, compiled);
await sufferSpam(chain, tokens, spam);
const permit2 = await deployPermit2(chain, tokens, v2);
await usePermit2(chain, tokens, permit2);

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
  safe: safe.account,
  safe_singleton: safe.singleton,
  safe_proxy_factory: safe.proxyFactory,
  safe_multi_send: safe.multiSend,
  entry_point: users.entryPoint,
  user_account_factory: users.factory,
  user_account: users.ofWallet,
  user_account_of_friend: users.ofFriend,
  seaport: market.seaport,
  conduit_controller: market.conduitController,
  balancer_vault: balancer.vault,
  balancer_pool_factory: balancer.factory,
  balancer_pool: balancer.pool,
  v4_pool_manager: v4.manager,
  v4_router: v4.router,
  fork_v2_factory: forks.factory,
  fork_v2_router: forks.router,
  fork_v2_pair: forks.pair,
  fork_vault: forks.vault,
  forged_supply: forgeries.supply,
  forged_swap: forgeries.swap,
  spam_token: spam.token,
  fake_token: spam.fake,
  usdc_imitation: spam.imitation,
};
const addresses = Object.entries({ ...contracts, ...chain.accounts }).map(([name, { address }]) => [name, address]);

const document = {
  chain_id: Number(chain.chainId),
  addresses: Object.fromEntries(addresses),
  wallet: chain.accounts.wallet.address,
  transactions: chain.transactions,
};
console.log(JSON.stringify(document, null, 2));
