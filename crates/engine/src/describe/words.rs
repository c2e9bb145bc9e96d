//! What happened, in words: for each category one phrase for legs both ways, out only, in only, and none. `{out}` and `{in}` are lists of legs, `{exchange}` its
//! name where it is known.

use crate::category::Category;

/// One phrase for each way in which the legs can be.
pub(super) struct Phrases {
    pub both: &'static str,
    pub out: &'static str,
    pub incoming: &'static str,
    pub none: &'static str,
}

const fn phrases(both: &'static str, out: &'static str, incoming: &'static str, none: &'static str) -> Phrases {
    Phrases { both, out, incoming, none }
}

#[rustfmt::skip]
pub(super) fn of(category: Category) -> Phrases {
    match category {
        Category::Swap => phrases("Swapped {out} for {in}", "An order was filled: {out} given, against what moved in another transaction", "An order was filled: {in} received, against what moved when it was placed", "Swapped"),
        Category::Transfer | Category::NftTransfer => phrases("Sent {out} and received {in}", "Sent {out}", "Received {in}", "Moved nothing"),
        Category::SelfTransfer => phrases("Moved {out} and {in} between own wallets", "Moved {out} to an own wallet", "Moved {in} from an own wallet", "Moved assets within the wallet"),
        Category::CexDeposit => phrases("Sent {out} to {exchange} and received {in}", "Sent {out} to {exchange}", "Received {in} from {exchange}", "Moved nothing to {exchange}"),
        Category::CexWithdrawal => phrases("Received {in} from {exchange} and sent {out}", "Sent {out} to {exchange}", "Received {in} from {exchange}", "Moved nothing from {exchange}"),
        Category::IncomeReceipt => phrases("Received {in} as income and gave {out}", "Gave {out} for income", "Received {in} as income", "Income without a movement"),
        Category::FeePayment => phrases("Paid {out} as a fee and received {in}", "Paid {out} as a fee", "Received {in} as a fee", "A fee without a movement"),
        Category::Payment => phrases("Paid {out} and received {in}", "Paid {out}", "Received {in} for a payment", "A payment without a movement"),
        Category::Borrow => phrases("Borrowed {in} against {out}", "Gave {out} for a loan", "Borrowed {in}", "Borrowed"),
        Category::Repay => phrases("Repaid a loan with {out} and received {in}", "Repaid a loan with {out}", "Received {in} when a loan was repaid", "Repaid a loan"),
        Category::CollateralSupply => phrases("Supplied {out} for {in}", "Supplied {out}", "Received {in} for what was supplied", "Supplied collateral"),
        Category::CollateralWithdraw => phrases("Withdrew {in} for {out}", "Gave back {out} to withdraw", "Withdrew {in}", "Withdrew collateral"),
        Category::VaultDeposit => phrases("Deposited {out} for {in}", "Deposited {out}", "Received {in} for a deposit", "Deposited into a vault"),
        Category::VaultWithdraw => phrases("Withdrew {in} for {out}", "Gave back {out} to withdraw", "Withdrew {in}", "Withdrew from a vault"),
        Category::LiquidityAdd => phrases("Added {out} to a pool for {in}", "Added {out} to a pool", "Received {in} for liquidity", "Added liquidity"),
        Category::LiquidityRemove => phrases("Removed {in} from a pool for {out}", "Gave back {out} to a pool", "Removed {in} from a pool", "Removed liquidity"),
        Category::Wrap => phrases("Wrapped {out} into {in}", "Wrapped {out}", "Received {in} by wrapping", "Wrapped"),
        Category::Unwrap => phrases("Unwrapped {out} into {in}", "Unwrapped {out}", "Received {in} by unwrapping", "Unwrapped"),
        Category::LiquidStakingMint => phrases("Staked {out} for {in}", "Staked {out}", "Received {in} for a stake", "Staked"),
        Category::LiquidStakingRedeem => phrases("Redeemed {out} for {in}", "Gave {out} to redeem it", "Received {in} for a redeemed staking token", "Redeemed a staking token"),
        Category::StakingDeposit => phrases("Staked {out} for {in}", "Staked {out}", "Received {in} for a stake", "Staked"),
        Category::StakingWithdraw => phrases("Unstaked {in} for {out}", "Gave back {out} to unstake", "Unstaked {in}", "Unstaked; nothing moved yet"),
        Category::Reward => phrases("Received {in} as a reward for {out}", "Gave {out} for a reward", "Received {in} as a reward", "A reward without a movement"),
        Category::Interest => phrases("Received {in} as interest for {out}", "Gave {out} for interest", "Received {in} as interest", "Interest without a movement"),
        Category::MiningReward => phrases("Received {in} for mining or validating and gave {out}", "Gave {out}", "Received {in} for mining or validating", "Mined"),
        Category::MevReward => phrases("Received {in} from block building and gave {out}", "Gave {out}", "Received {in} from block building", "Built a block"),
        Category::StakingRebase => phrases("The balance grew by {in} and {out} was given", "Gave {out}", "The balance grew by {in}", "A rebase without a change"),
        Category::Airdrop => phrases("Received {in} from an airdrop for {out}", "Gave {out} for an airdrop", "Received {in} from an airdrop", "An airdrop without a movement"),
        Category::BridgeOut => phrases("Sent {out} to another chain and received {in}", "Sent {out} to another chain", "Received {in} when sending to another chain", "Sent to another chain"),
        Category::BridgeIn => phrases("Received {in} from another chain and gave {out}", "Gave {out} to receive from another chain", "Received {in} from another chain", "Received from another chain"),
        Category::BridgeSwap => phrases("Swapped {out} for {in} across chains", "Sent {out} to another chain, where another asset arrives", "Received {in} for another asset on another chain", "Swapped across chains"),
        Category::NftPurchase => phrases("Bought {in} for {out}", "Bought an NFT for {out}; no balance shows the NFT", "Bought {in}; the price came out of escrow, or moved in another transaction", "Bought an NFT"),
        Category::NftSale => phrases("Sold {out} for {in}", "Sold {out}; the price stayed in escrow, or moved in another transaction", "Sold an NFT for {in}; no balance shows the NFT", "Sold an NFT"),
        Category::NftMint => phrases("Minted {in} for {out}", "Paid {out} for a mint", "Minted {in} for free", "Minted an NFT"),
        Category::OrderPlace => phrases("Placed an order with {out} and received {in}", "Placed an order with {out}", "Received {in} when placing an order", "Placed an order"),
        Category::OrderCancel => phrases("Cancelled an order: {in} came back for {out}", "Cancelled an order with {out}", "Cancelled an order: {in} came back", "Cancelled an order"),
        Category::MarginDeposit => phrases("Paid {out} into a margin account and received {in}", "Paid {out} into a margin account", "Received {in} for a margin account", "Paid into a margin account"),
        Category::MarginWithdraw => phrases("Took {in} out of a margin account and gave {out}", "Gave {out} to a margin account", "Took {in} out of a margin account", "Took from a margin account"),
        Category::RedemptionRequest => phrases("Asked to redeem {out} and received {in} for the claim", "Asked to redeem {out}", "Received {in} for a redemption", "Asked for a redemption"),
        Category::TokenMigration => phrases("Migrated {out} to {in}", "Gave {out} for its successor", "Received {in} for its predecessor", "Migrated a token"),
        Category::Liquidation => phrases("Liquidated: {out} was taken and {in} came back", "Liquidated: {out} was taken", "Liquidated: {in} came back", "Liquidated"),
        Category::FlashLoan => phrases("Took and repaid a flash loan: {out} was given and {in} is left", "Took and repaid a flash loan for {out}", "Took and repaid a flash loan: {in} is left", "Took and repaid a flash loan"),
        Category::TokenSale => phrases("Paid {out} into a token sale for {in}", "Paid {out} into a token sale", "Received {in} from a token sale", "Took part in a token sale"),
        Category::Governance => phrases("Voted or proposed; {out} went out and {in} came in", "Voted or proposed; {out} went out", "Voted or proposed; {in} came in", "Voted or proposed"),
        Category::Delegation => phrases("Delegated voting power; {out} went out and {in} came in", "Delegated voting power; {out} went out", "Delegated voting power; {in} came in", "Delegated voting power"),
        Category::VoteLock => phrases("Locked {out} for voting power and received {in}", "Locked {out} for voting power", "Received {in} from a lock for voting power", "Changed a lock for voting power"),
        Category::Refund => phrases("Got {in} refunded and gave {out}", "Gave {out} for a refund", "Got {in} refunded", "A refund without a movement"),
        Category::Donation => phrases("Donated {out} and received {in}", "Donated {out}", "Received {in} as a donation", "Donated"),
        Category::Gift => phrases("Gave {out} and received {in} as gifts", "Gave {out} as a gift", "Received {in} as a gift", "A gift without a movement"),
        Category::VestingClaim => phrases("Claimed {in} of vested tokens and gave {out}", "Gave {out} for vested tokens", "Claimed {in} of vested tokens", "Claimed vested tokens"),
        Category::PerpOpen => phrases("Opened a perpetual position with {out} and received {in}", "Opened a perpetual position with {out}", "Opened a perpetual position and received {in}", "Opened a perpetual position"),
        Category::PerpClose => phrases("Closed a perpetual position: {in} came back for {out}", "Closed a perpetual position with {out}", "Closed a perpetual position: {in} came back", "Closed a perpetual position"),
        Category::Funding => phrases("Settled funding with {out} and {in}", "Paid {out} of funding", "Received {in} of funding", "Settled funding"),
        Category::Bet => phrases("Bet {out} and received {in}", "Bet {out}", "Received {in} from a bet", "Settled a bet"),
        Category::Raffle => phrases("Paid {out} in a raffle and received {in}", "Paid {out} for a raffle", "Received {in} from a raffle", "Took part in a raffle"),
        Category::Option => phrases("Traded an option: {out} for {in}", "Paid {out} for an option", "Received {in} from an option", "Changed an option"),
        Category::NftLoan => phrases("Moved {out} and {in} for a loan against an NFT", "Gave {out} for a loan against an NFT", "Received {in} from a loan against an NFT", "Changed a loan against an NFT"),
        Category::TokenBurn => phrases("Burned {out} and received {in}", "Burned {out}", "Received {in} for a burn", "Burned nothing"),
        Category::Loss => phrases("Lost {out} and received {in}", "Lost {out}", "Received {in} after a loss", "Lost nothing"),
        Category::AccountOpen => phrases("Opened own accounts; {out} went in as rent and {in} came back", "Opened own accounts; {out} went in as rent", "Opened own accounts; {in} came back", "Opened an own account"),
        Category::AccountClose => phrases("Closed own accounts; {in} of rent came back and {out} went out", "Closed own accounts; {out} went out", "Closed own accounts; {in} of rent came back", "Closed an own account"),
        Category::Approval => phrases("Allowed another address to move tokens; {out} went out and {in} came in", "Allowed another address to move tokens; {out} went out", "Allowed another address to move tokens; {in} came in", "Allowed another address to move tokens"),
        Category::Revoke => phrases("Took back a permission to move tokens; {out} went out and {in} came in", "Took back a permission to move tokens; {out} went out", "Took back a permission to move tokens; {in} came in", "Took back a permission to move tokens"),
        Category::NftListing => phrases("Listed {out} for sale and received {in}", "Listed for sale; {out} went into escrow or accounts", "Changed a listing; {in} came back", "Listed an NFT for sale, or changed its listing"),
        Category::ContractCall => phrases("Called a contract; {out} went into accounts or fees and {in} came back", "Called a contract; {out} went into accounts or fees", "Called a contract; {in} came back", "Called a contract; nothing moved for this wallet"),
        Category::ContractDeploy => phrases("Deployed a contract; {out} went into its accounts and {in} came back", "Deployed a contract; {out} went into its accounts", "Deployed a contract; {in} came back", "Deployed a contract"),
        Category::FailedTransaction => phrases("The transaction failed", "The transaction failed", "The transaction failed", "The transaction failed; only gas was spent"),
        Category::Spam => phrases("Unasked for, which looks like spam: {out} and {in}", "Unasked for, which looks like spam: {out}", "Received {in} unasked, which looks like spam", "A look-alike transfer in this wallet's name, which moved nothing"),
        Category::Unclassified => phrases("{out} left and {in} arrived; what for is not clear", "{out} left the wallet; what for is not clear", "{in} arrived; what for is not clear", "Nothing moved for this wallet, and what the call did is not known"),
    }
}
