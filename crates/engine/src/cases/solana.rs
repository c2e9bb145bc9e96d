//! Cases on Solana. An instruction is `market: buy(0=wallet, 3=other)`: a role of the pack, an instruction by its Anchor name or by the
//! data that a rule of the pack names, and which account is at which of its positions; an account that is not named is a stranger. Moves become
//! balances before and after, and the transfers that the first instruction made.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, hex, keccak256};
use toml::Spanned;

use crate::asset::Account;
use crate::cases;
use crate::facts::Facts;
use crate::rules::file::{CaseRow, PackFile};
use crate::rules::solana::{SOLANA, discriminator, key};
use crate::solana::instructions::{SYSTEM, TOKEN};
use crate::solana::json::{Effects, Instruction, SolanaTransaction, TokenAccount, TokenHolding};
use crate::solana::{Key, SolanaFacts};
use crate::token::Token;

/// The balance of every account before the transaction: enough for any case.
const LAMPORTS_HELD: u64 = 1_000_000_000_000;
const TOKENS_HELD: u64 = 1_000_000_000;
/// The rent-exempt minimum of a token account.
const RENT: u64 = 2_039_280;
const FEE: u64 = 5_000;
const DECIMALS: u8 = 6;
/// Positions that an instruction can have.
const POSITIONS_MAX: usize = 64;

/// The case's facts, and whose reading it is.
pub fn staged(file: &PackFile, case: &CaseRow) -> Result<(Facts, Account), String> {
    let facts = SolanaStage { file }.facts(case)?;
    Ok((facts.into(), Account::Solana(account_of("wallet"))))
}

fn account_of(name: &str) -> Key {
    keccak256(name).0
}

struct SolanaStage<'a> {
    file: &'a PackFile,
}

struct SolanaCaseMove {
    from: Key,
    to: Key,
    amount: u64,
    /// `None` is the coin.
    mint: Option<(Key, u8)>,
}

impl SolanaStage<'_> {
    fn facts(&self, case: &CaseRow) -> Result<SolanaFacts, String> {
        let payer = self.account(case.from.as_deref().unwrap_or("wallet"))?;
        let moves: Vec<SolanaCaseMove> = case.moves.iter().map(|text| self.moved(text)).collect::<Result<_, _>>()?;
        let mut outer = Vec::new();
        for (at, text) in case.instructions.iter().enumerate() {
            outer.push(Instruction { outer: at, ..self.instruction(text, payer)? });
        }
        let is_bare = outer.is_empty();
        let made = moves.iter().enumerate().map(|(at, moved)| Instruction {
            outer: if is_bare { at } else { 0 },
            depth: if is_bare { 1 } else { 2 },
            ..transfer(moved)
        });
        let first = usize::from(!is_bare);
        let later = outer.split_off(first);
        let instructions = outer.into_iter().chain(made).chain(later).collect();
        let mut books = Books::default();
        books.hold(payer);
        books.hold(account_of("wallet"));
        for moved in &moves {
            books.post(moved);
        }
        let tokens = moves.iter().filter_map(|moved| moved.mint).map(|(mint, decimals)| {
            let meta = Token { symbol: Some("CASE".to_owned()), decimals: Some(decimals), ..Token::default() };
            (mint, Arc::new(meta))
        });
        Ok(SolanaFacts {
            chain: Arc::new(cases::chain(SOLANA, Address::ZERO)),
            signature: [0; 64],
            tokens: tokens.collect(),
            transaction: books.transaction(payer, instructions),
            block: cases::block(case)?,
        })
    }

    fn account(&self, name: &str) -> Result<Key, String> {
        let is_letter = name.len() == 1 && name.chars().all(|c| c.is_ascii_uppercase());
        match name {
            "zero" => Ok(SYSTEM),
            "wallet" | "other" | "stranger" => Ok(account_of(name)),
            _ if is_letter => Ok(account_of(name)),
            _ => key(name).or_else(|_| self.role(name)),
        }
    }

    fn role(&self, name: &str) -> Result<Key, String> {
        let (role, place) = name.split_once('.').map_or((name, Ok(1)), |(role, place)| (role, place.parse::<usize>()));
        let place = place.map_err(|_| format!("`{name}` is no place among a role's accounts"))?;
        let chains = self.file.contracts.get(role).ok_or_else(|| format!("nobody is called `{role}`"))?;
        let account = chains.get(SOLANA).and_then(|all| all.get(place.saturating_sub(1)));
        key(account.ok_or_else(|| format!("role `{role}` has no such account on Solana"))?.get_ref())
    }

    fn moved(&self, text: &str) -> Result<SolanaCaseMove, String> {
        let shape = || format!("move `{text}` does not read `from > to: amount asset`");
        let (parties, what) = text.split_once(": ").ok_or_else(shape)?;
        let (from, to) = parties.split_once(" > ").ok_or_else(shape)?;
        let (from, to) = (self.account(from.trim())?, self.account(to.trim())?);
        if let Some((collection, _)) = what.split_once('#') {
            self.account(collection.trim())?;
            return Ok(SolanaCaseMove { from, to, amount: 1, mint: Some((account_of(what.trim()), 0)) });
        }
        let (amount, asset) = what.trim().split_once(' ').ok_or_else(shape)?;
        let amount = amount.parse().map_err(|_| format!("`{amount}` is no amount"))?;
        let mint = match asset.trim() {
            "native" => None,
            token => Some((self.account(token)?, DECIMALS)),
        };
        Ok(SolanaCaseMove { from, to, amount, mint })
    }

    /// An instruction that names no account has one: the fee payer.
    fn instruction(&self, text: &str, payer: Key) -> Result<Instruction, String> {
        let shape = || format!("instruction `{text}` does not read `role: name(position=account, …)`");
        let (program, rest) = text.split_once(": ").ok_or_else(shape)?;
        let (name, rest) = rest.trim().split_once('(').ok_or_else(shape)?;
        let inside = rest.strip_suffix(')').ok_or_else(shape)?;
        let program = self.account(program.trim())?;
        let mut accounts: Vec<Key> = Vec::new();
        let mut data = self.data(name)?;
        for pair in inside.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (place, whom) = pair.split_once('=').ok_or_else(shape)?;
            if place.trim() == "whose" {
                let at = self.whose(name.trim()).ok_or_else(|| format!("no row tells whose `{name}` is"))?;
                data.resize(at, 0);
                data.extend(self.account(whom.trim())?);
                continue;
            }
            let place: usize = place.trim().parse().map_err(|_| format!("`{place}` is no position"))?;
            let account = self.account(whom.trim())?;
            if place >= POSITIONS_MAX {
                return Err(format!("`{place}` is past the last position"));
            }
            while accounts.len() <= place {
                accounts.push(account_of(&format!("position {}", accounts.len())));
            }
            accounts.get_mut(place).into_iter().for_each(|held| *held = account);
        }
        if accounts.is_empty() {
            accounts.push(payer);
        }
        Ok(Instruction { program, accounts, data, outer: 0, depth: 1 })
    }

    /// Where the instruction of that name says who gets it on another chain.
    fn whose(&self, name: &str) -> Option<usize> {
        let is_it = |text: &Option<Spanned<String>>| text.as_ref().is_some_and(|text| text.get_ref() == name);
        let mut rows = self.file.instruction.iter().filter(|row| is_it(&row.anchor) || is_it(&row.data));
        rows.find_map(|row| row.whose)
    }

    fn data(&self, name: &str) -> Result<Vec<u8>, String> {
        let is_raw =
            self.file.instruction.iter().any(|row| row.data.as_ref().is_some_and(|data| data.get_ref() == name));
        if is_raw { hex::decode(name).map_err(|error| error.to_string()) } else { Ok(discriminator(name)) }
    }
}

/// The instruction that makes such a move.
fn transfer(moved: &SolanaCaseMove) -> Instruction {
    let SolanaCaseMove { from, to, amount, mint } = moved;
    let amount = amount.to_le_bytes();
    let (program, accounts, data) = match mint {
        None => (SYSTEM, vec![*from, *to], [[2, 0, 0, 0].as_slice(), &amount].concat()),
        Some((mint, _)) if *from == SYSTEM => {
            (TOKEN, vec![*mint, token_account(*to, *mint), account_of("authority")], [[7].as_slice(), &amount].concat())
        }
        Some((mint, _)) if *to == SYSTEM => {
            (TOKEN, vec![token_account(*from, *mint), *mint, *from], [[8].as_slice(), &amount].concat())
        }
        Some((mint, _)) => {
            let accounts = vec![token_account(*from, *mint), token_account(*to, *mint), *from];
            (TOKEN, accounts, [[3].as_slice(), &amount].concat())
        }
    };
    Instruction { program, accounts, data, outer: 0, depth: 1 }
}

fn token_account(owner: Key, mint: Key) -> Key {
    keccak256([owner, mint].concat()).0
}

/// Balances before and after.
#[derive(Default)]
struct Books {
    lamports: BTreeMap<Key, u64>,
    tokens: BTreeMap<Key, TokenAccount>,
}

impl Books {
    fn hold(&mut self, account: Key) -> &mut u64 {
        self.lamports.entry(account).or_insert(LAMPORTS_HELD)
    }

    fn post(&mut self, moved: &SolanaCaseMove) {
        let Some((mint, decimals)) = moved.mint else {
            let held = self.hold(moved.from);
            *held = held.saturating_sub(moved.amount);
            let held = self.hold(moved.to);
            *held = held.saturating_add(moved.amount);
            return;
        };
        let sides = [(moved.from, true), (moved.to, false)];
        for (owner, gives) in sides.into_iter().filter(|(owner, _)| *owner != SYSTEM) {
            let key = token_account(owner, mint);
            // An NFT has a supply of one, and its first sender holds it before the transaction.
            let first = if decimals > 0 { TOKENS_HELD } else { u64::from(gives) };
            let held = Some(TokenHolding { owner: Some(owner), amount: first });
            let account =
                self.tokens.entry(key).or_insert(TokenAccount { key, mint, decimals, before: held, after: held });
            if let Some(after) = account.after.as_mut() {
                after.amount = if gives {
                    after.amount.saturating_sub(moved.amount)
                } else {
                    after.amount.saturating_add(moved.amount)
                };
            }
        }
    }

    fn transaction(self, payer: Key, instructions: Vec<Instruction>) -> SolanaTransaction {
        let mut keys = vec![payer];
        let mut lamports = Vec::new();
        let left = self.lamports.get(&payer).copied().unwrap_or_default();
        lamports.push((LAMPORTS_HELD, left.saturating_sub(FEE)));
        for (account, after) in self.lamports.iter().filter(|(account, _)| **account != payer) {
            keys.push(*account);
            lamports.push((LAMPORTS_HELD, *after));
        }
        for account in self.tokens.keys() {
            keys.push(*account);
            lamports.push((RENT, RENT));
        }
        SolanaTransaction {
            slot: None,
            time: None,
            signatures: vec![[0; 64]],
            keys,
            signers: 1,
            instructions,
            effects: Some(Effects {
                failed: false,
                fee: FEE,
                lamports,
                token_accounts: self.tokens.into_values().collect(),
            }),
            is_unloaded: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::rules::Rules;
    use crate::treatments::Treatments;

    const PACK: &str = r#"
name  = "Mine"
about = "x"
links = ["https://example.org/a", "https://example.org/b"]

[contracts.market]
solana = ["3CgvbiM3op4vjrrjH2zcrQUwsqh5veNVRjFCB9N6sRoD"]

[[instruction]]
on    = "market"
data  = "01"
means = "nft_purchase"
who   = [0]

[[instruction]]
on    = "market"
data  = "01"
means = "order_cancel"
who   = [0]
same  = [0, 2]

[[instruction]]
on     = "market"
anchor = "deposit"
means  = "order_place"
weak   = true

[[instruction]]
on       = "market"
anchor   = "adjust"
means    = "collateral_withdraw"
owner_of = [1]
"#;

    const SILENT: &str = r#"
[[case]]
about        = "somebody else's"
chain        = "solana"
from         = "other"
instructions = ["market: 01(0=other)"]
moves        = ["wallet > other: 5 A"]
silent       = true
"#;

    fn faults(instructions: &str, moves: &str, reads: &str) -> String {
        let case =
            format!("[[case]]\nabout = \"it\"\nchain = \"solana\"\ninstructions = {instructions}\nmoves = {moves}\n");
        let pack = format!("{PACK}{case}reads = \"{reads}\"\n{SILENT}");
        let rules = Rules::of(&[("mine", &pack)]).expect("the pack loads");
        let knowledge = Knowledge::new(rules, Treatments::us().expect("treatments/us.toml loads"), []);
        cases::check(&knowledge).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    const BOUGHT: &str = r#"["wallet > other: 5 native", "other > wallet: A#1"]"#;

    #[test]
    fn instructions_are_read_as_the_pack_says() {
        assert_eq!(faults(r#"["market: 01(0=wallet)"]"#, BOUGHT, "nft_purchase"), "");
        assert_eq!(faults(r#"["market: deposit()", "market: 01(0=wallet)"]"#, BOUGHT, "nft_purchase"), "");
        assert_eq!(faults(r#"["market: deposit()"]"#, r#"["wallet > other: 5 native"]"#, "order_place"), "");
    }

    #[test]
    fn who_buys_its_own_listing_takes_it_back() {
        let own = r#"["market: 01(0=wallet, 2=wallet)"]"#;
        assert_eq!(faults(own, r#"["other > wallet: A#1"]"#, "order_cancel"), "");
    }

    #[test]
    fn who_gives_an_nft_away_buys_none() {
        let sold = r#"["wallet > other: A#1", "other > wallet: 5 native"]"#;
        let said = faults(r#"["market: 01(0=wallet)"]"#, sold, "nft_purchase");
        assert!(said.contains("it is read as nft_sale at confidence 20"), "a leaning, and no purchase: {said}");
    }

    #[test]
    fn what_a_deposit_does_not_move_is_left_over() {
        let said =
            faults(r#"["market: deposit()"]"#, r#"["wallet > other: 5 A", "other > wallet: 7 B"]"#, "order_place");
        assert!(said.contains("at confidence 45"), "{said}");
    }

    #[test]
    fn words_that_nobody_knows_are_a_fault() {
        let cases = [
            (r#"["nobody: 01(0=wallet)"]"#, BOUGHT),
            (r#"["market 01(0=wallet)"]"#, BOUGHT),
            (r#"["market: 01(first=wallet)"]"#, BOUGHT),
            (r#"["market: 01(999=wallet)"]"#, BOUGHT),
            (r#"["market: 01(0=wallet)"]"#, r#"["wallet > other: native"]"#),
            (r#"["market: 01(0=wallet)"]"#, r#"["wallet > nobody: 5 A"]"#),
        ];
        for (instructions, moves) in cases {
            let said = faults(instructions, moves, "nft_purchase");
            assert!(said.starts_with("mine.toml:") && said.contains("case `it`: "), "{instructions} {moves}: {said}");
        }
    }
}
