//! The programs that every wallet uses, and the few of their instructions that move something or say whose an account is.

use alloy_primitives::hex;

use super::Key;
use super::json::Instruction;

/// 32 zero bytes: it owns plain wallets, and stands for "no account" where tokens are minted or burned.
pub const SYSTEM: Key = [0; 32];
/// TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA
pub const TOKEN: Key = hex!("06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9");
/// TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb
pub const TOKEN_2022: Key = hex!("06ddf6e1ee758fde18425dbce46ccddab61afc4d83b90d27febdf928d8a18bfc");
/// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
pub const ASSOCIATED: Key = hex!("8c97258f4e2489f1bb3d1029148e0d830b5a1399daff1084048e7bd8dbe9f859");
/// ComputeBudget111111111111111111111111111111
pub const COMPUTE_BUDGET: Key = hex!("0306466fe5211732ffecadba72c39be7bc8ce5bbc5f7126b2c439b3a40000000");
/// MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr
pub const MEMO: Key = hex!("054a535a992921064d24e87160da387c7c35b5ddbc92bb81e41fa8404105448d");
/// Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo
pub const MEMO_V1: Key = hex!("054a5350f85dc882d614a55672788a296ddf1eababd0a60678884932f4eef6a0");
/// So11111111111111111111111111111111111111112
pub const WRAPPED_SOL: Key = hex!("069b8857feab8184fb687f634618c035dac439dc1aeb3b5598a0f00000000001");

/// CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d, of Metaplex: each NFT is an account, and no token balance tells who owns it.
pub const CORE: Key = hex!("af54ab10bd97a542a09ef7b39889dd0cd394a4cce9dfa6cdc97ebe2d235ba748");

/// More than this is not a tip to whoever puts a transaction into a block.
pub const TIP_LAMPORTS_MAX: u64 = 5_000_000;
/// The largest accounts that protocols open for a user, such as positions with many bins, keep less. What is more is somebody's money.
pub const RENT_LAMPORTS_MAX: u64 = 100_000_000;
/// A token account is made with less, whatever extensions it has.
pub const TOKEN_RENT_LAMPORTS_MAX: u64 = 5_000_000;

/// What an account must hold for each byte of its size, and of what every account has besides, so that it stays.
const RENT_LAMPORTS_A_BYTE: u64 = 6_960;
const ACCOUNT_OVERHEAD_BYTES: u64 = 128;
const SIZE_AND_OWNER_BYTES: usize = 8 + 32;

/// What an instruction of these programs does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionEffect {
    Lamports {
        from: Key,
        to: Key,
        amount: u64,
    },
    /// Between two token accounts.
    Tokens {
        from: Key,
        to: Key,
        amount: u64,
    },
    Minted {
        mint: Key,
        to: Key,
        amount: u64,
    },
    Burned {
        mint: Key,
        from: Key,
        amount: u64,
    },
    /// An NFT that is an account itself. The System program stands for "nobody".
    Item {
        item: Key,
        from: Key,
        to: Key,
    },
    /// A token account for this mint now belongs to this owner.
    Opened {
        account: Key,
        mint: Key,
        owner: Key,
    },
    /// The token account is gone, and all its coin went on.
    Closed {
        account: Key,
        to: Key,
    },
    Approved,
    Revoked,
    /// The account now belongs to somebody else.
    HandedOver,
}

pub fn done(instruction: &Instruction) -> Option<InstructionEffect> {
    match instruction.program {
        SYSTEM => system(instruction),
        TOKEN | TOKEN_2022 => token(instruction),
        CORE => item(instruction),
        ASSOCIATED => {
            let [_, account, owner, mint, ..] = instruction.accounts.as_slice() else { return None };
            Some(InstructionEffect::Opened { account: *account, mint: *mint, owner: *owner })
        }
        _ => None,
    }
}

fn system(instruction: &Instruction) -> Option<InstructionEffect> {
    let account = |at: usize| instruction.accounts.get(at).copied();
    let number: u32 = read(&instruction.data, 0).map(u32::from_le_bytes)?;
    let (to, offset) = match number {
        // CreateAccount and Transfer
        0 | 2 => (account(1)?, 4),
        // CreateAccountWithSeed: the seed is before the amount, with its length.
        3 => {
            let seed = read(&instruction.data, 36).map(u64::from_le_bytes)?;
            (account(1)?, usize::try_from(seed).ok()?.checked_add(44)?)
        }
        // TransferWithSeed
        11 => (account(2)?, 4),
        // WithdrawNonceAccount
        5 => (account(1)?, 4),
        _ => return None,
    };
    let amount = read(&instruction.data, offset).map(u64::from_le_bytes)?;
    Some(InstructionEffect::Lamports { from: account(0)?, to, amount })
}

/// An account that is left out is named as the program itself. Whoever gives an NFT away is taken for its owner, unless a program does it.
fn item(instruction: &Instruction) -> Option<InstructionEffect> {
    let account = |at: usize| instruction.accounts.get(at).copied().filter(|account| *account != CORE);
    let item = account(0)?;
    let (from, to) = match instruction.data.first()? {
        // Create, in both versions: the owner, else the authority, else whoever pays.
        0 | 20 => (SYSTEM, account(4).or_else(|| account(2)).or_else(|| account(3))?),
        // Burn and Transfer: the authority, else whoever pays.
        12 => (account(3).or_else(|| account(2))?, SYSTEM),
        14 => (account(3).or_else(|| account(2))?, account(4)?),
        _ => return None,
    };
    Some(InstructionEffect::Item { item, from, to })
}

fn token(instruction: &Instruction) -> Option<InstructionEffect> {
    let account = |at: usize| instruction.accounts.get(at).copied();
    let data = &instruction.data;
    let amount = |at: usize| read(data, at).map(u64::from_le_bytes);
    Some(match data.first()? {
        1 => InstructionEffect::Opened { account: account(0)?, mint: account(1)?, owner: account(2)? },
        16 | 18 => InstructionEffect::Opened { account: account(0)?, mint: account(1)?, owner: read(data, 1)? },
        3 => InstructionEffect::Tokens { from: account(0)?, to: account(1)?, amount: amount(1)? },
        12 => InstructionEffect::Tokens { from: account(0)?, to: account(2)?, amount: amount(1)? },
        // TransferCheckedWithFee of Token-2022
        26 if data.get(1) == Some(&1) => {
            InstructionEffect::Tokens { from: account(0)?, to: account(2)?, amount: amount(2)? }
        }
        7 | 14 => InstructionEffect::Minted { mint: account(0)?, to: account(1)?, amount: amount(1)? },
        8 | 15 => InstructionEffect::Burned { from: account(0)?, mint: account(1)?, amount: amount(1)? },
        4 | 13 => InstructionEffect::Approved,
        5 => InstructionEffect::Revoked,
        6 => InstructionEffect::HandedOver,
        9 => InstructionEffect::Closed { account: account(0)?, to: account(1)? },
        _ => return None,
    })
}

/// The kind of authority that owns a token account.
const ACCOUNT_OWNER: u8 = 2;

/// An account that the System program gave data to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    pub account: Key,
    /// Bytes of its data.
    pub size: u64,
    /// The program that owns it; Allocate leaves that to Assign.
    pub owner: Option<Key>,
}

/// CreateAccount and Allocate, with a seed or without. But for the plain Allocate, the last of the data are the size and the program.
pub fn creation(instruction: &Instruction) -> Option<Creation> {
    let data = &instruction.data;
    let number: u32 = read(data, 0).map(u32::from_le_bytes)?;
    let size_at = if number == 8 { 4 } else { data.len().checked_sub(SIZE_AND_OWNER_BYTES)? };
    let (place, owner) = match number {
        0 | 3 => (1, data.last_chunk().copied()),
        8 => (0, None),
        9 => (0, data.last_chunk().copied()),
        _ => return None,
    };
    let account = *instruction.accounts.get(place).filter(|_| instruction.program == SYSTEM)?;
    Some(Creation { account, size: read(data, size_at).map(u64::from_le_bytes)?, owner })
}

/// To which program Assign gives an account.
pub fn assigned(instruction: &Instruction) -> Option<(Key, Key)> {
    let number = read(&instruction.data, 0).map(u32::from_le_bytes);
    let program = read(&instruction.data, 4).filter(|_| instruction.program == SYSTEM && number == Some(1))?;
    Some((*instruction.accounts.first()?, program))
}

/// What an account of this size must hold.
pub fn rent(size: u64) -> Option<u64> {
    size.checked_add(ACCOUNT_OVERHEAD_BYTES)?.checked_mul(RENT_LAMPORTS_A_BYTE)
}

/// Whether so much coin is the rent of an account of some size.
pub fn may_be_rent(lamports: u64) -> bool {
    lamports.is_multiple_of(RENT_LAMPORTS_A_BYTE)
        && lamports >= ACCOUNT_OVERHEAD_BYTES.saturating_mul(RENT_LAMPORTS_A_BYTE)
}

/// To whom a token account is given by `SetAuthority`. Other authorities over it, and over a mint, keep it where it is.
pub fn new_owner(instruction: &Instruction) -> Option<Key> {
    let is_token = matches!(instruction.program, TOKEN | TOKEN_2022);
    let is_owner = instruction.data.starts_with(&[6, ACCOUNT_OWNER, 1]);
    (is_token && is_owner).then(|| read(&instruction.data, 3)).flatten()
}

/// Whether a wallet itself is given to a program, as in Assign: whoever controls the program controls the wallet.
pub fn gives_away(instruction: &Instruction, wallet: &Key) -> bool {
    let number = read(&instruction.data, 0).map(u32::from_le_bytes);
    instruction.program == SYSTEM && matches!(number, Some(1 | 10)) && instruction.accounts.first() == Some(wallet)
}

/// Confidential transfers of Token-2022: balances that nobody but their owners can read.
pub fn is_confidential(instruction: &Instruction) -> bool {
    instruction.program == TOKEN_2022 && matches!(instruction.data.first(), Some(27 | 37 | 42))
}

fn read<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

/// Programs that only carry, pay for or annotate what others do.
pub fn is_plumbing(program: &Key) -> bool {
    [SYSTEM, TOKEN, TOKEN_2022, ASSOCIATED, COMPUTE_BUDGET, MEMO, MEMO_V1].contains(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Account;

    #[test]
    fn the_ids_are_those_that_the_comments_name() {
        let named = [
            (SYSTEM, "11111111111111111111111111111111"),
            (TOKEN, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
            (TOKEN_2022, "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"),
            (ASSOCIATED, "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"),
            (COMPUTE_BUDGET, "ComputeBudget111111111111111111111111111111"),
            (CORE, "CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d"),
            (MEMO, "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"),
            (MEMO_V1, "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"),
            (WRAPPED_SOL, "So11111111111111111111111111111111111111112"),
        ];
        for (key, name) in named {
            assert_eq!(Account::Solana(key).to_string(), name);
        }
    }
}
