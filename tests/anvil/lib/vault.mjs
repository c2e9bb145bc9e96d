// An ERC-4626 vault over dUSD that gains between the deposit and the withdrawal.

import { call, deploy, read, record, send } from "./chain.mjs";
import { allow, dollars } from "./tokens.mjs";

export async function deployVault(chain, { dusd }, { DemoVault }) {
  const { deployer, maker } = chain.accounts;
  const vault = await deploy(chain, deployer, DemoVault, [dusd.address]);
  await allow(chain, maker, dusd, vault);
  await send(chain, maker, call(vault, "deposit", [dollars("8000"), maker.address]));
  return vault;
}

export async function useVault(chain, { dusd }, vault) {
  const { wallet, maker } = chain.accounts;
  await allow(chain, wallet, dusd, vault);
  const deposited = call(vault, "deposit", [dollars("2000"), wallet.address]);
  await record(chain, "vault_deposit", "Deposited 2,000 dUSD in a vault.", wallet, deposited);

  await send(chain, maker, call(dusd, "transfer", [vault.address, dollars("150")]));
  const shares = await read(chain, vault, "balanceOf", [wallet.address]);
  const redeemed = call(vault, "redeem", [shares, wallet.address, wallet.address]);
  await record(chain, "vault_withdraw", "Took everything out of the vault, with its gain.", wallet, redeemed);
}
