//! Coin beside what a transaction is about, and items that no balance tells of.

use super::*;

/// Coin for a stranger beside a purchase is no part of the price.
#[test]
fn a_little_coin_for_a_stranger_beside_a_trade_is_its_fee() {
    let (price, tip) = (2 * SOL, 4_000_000);
    let mut draft = with_temporary(RENT + price);
    draft.calls(TOKEN, &[TEMPORARY, POOL, WALLET], &transfer(price));
    draft.calls(TOKEN, &[THEIRS, MINE, OTHER], &transfer(100));
    draft.token(POOL, WRAPPED_SOL, Some(OTHER), [Some(0), Some(price)]);
    draft.token(MINE, MINT, Some(WALLET), [Some(0), Some(100)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(100), Some(0)]);
    draft.asks(TOKEN, &[TEMPORARY, WALLET, WALLET], &[9]);
    draft.asks(SYSTEM, &[WALLET, PROGRAM], &system(2, tip));
    draft.holds(PROGRAM, RENT, RENT + tip);
    draft.holds(WALLET, 100 * SOL, 98 * SOL - tip - FEE);
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "{:?}", answer.review_note);
    let postings = answer.postings.unwrap_or_default();
    let booked: Vec<(Entry, &str)> = postings.iter().map(|posting| (posting.entry, posting.amount.as_str())).collect();
    assert!(booked.contains(&(Entry::Expense, "4000000")), "{booked:?}");
    assert!(booked.contains(&(Entry::Dispose, "2000000000")), "{booked:?}");
}

/// A hundred tokens are given for fifty of another at Raydium.
fn exchanged(change: i64) -> Draft {
    let other_mint = [10; 32];
    let mut draft = Draft::of_wallet(change);
    let raydium: Key = bs58::decode(RAYDIUM).into_vec().unwrap().try_into().unwrap();
    let mut accounts = vec![POOL; 16];
    accounts.push(WALLET);
    draft.asks(raydium, &accounts, &[9]);
    draft.calls(TOKEN, &[MINE, THEIRS, WALLET], &transfer(100));
    draft.calls(TOKEN, &[POOL, VAULT, OTHER], &transfer(50));
    draft.token(MINE, MINT, Some(WALLET), [Some(100), Some(0)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(0), Some(100)]);
    draft.token(POOL, other_mint, Some(OTHER), [Some(50), Some(0)]);
    draft.token(VAULT, other_mint, Some(WALLET), [Some(0), Some(50)]);
    draft
}

fn booked(answer: &Classification) -> Vec<(Entry, Category, &str)> {
    let postings = answer.postings.iter().flatten().filter(|posting| posting.amount != FEE.to_string());
    postings.map(|posting| (posting.entry, posting.category, posting.amount.as_str())).collect()
}

/// Coin beside an exchange of tokens is no side of it: a tip is a fee, and what an account was made with comes back one day.
#[test]
fn coin_beside_an_exchange_of_tokens_is_a_fee_or_rent_and_not_sold() {
    let tip = 80_000;
    let mut draft = exchanged(-tip);
    draft.asks(SYSTEM, &[WALLET, PROGRAM], &system(2, tip.unsigned_abs()));
    draft.holds(PROGRAM, RENT, RENT + tip.unsigned_abs());
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "{:?}", answer.review_note);
    assert_eq!(booked(&answer)[0], (Entry::Expense, Category::FeePayment, "80000"), "{:?}", booked(&answer));

    // An account of eight bytes.
    let rent = 6_960 * (128 + 8);
    let mut draft = exchanged(-rent);
    let size_and_owner = [8_u64.to_le_bytes().as_slice(), &OTHER].concat();
    draft.calls(SYSTEM, &[WALLET, PROGRAM], &[system(0, rent.unsigned_abs()), size_and_owner].concat());
    draft.holds(PROGRAM, 0, rent.unsigned_abs());
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "{:?}", answer.review_note);
    assert_eq!(booked(&answer)[0], (Entry::Lock, Category::AccountOpen, "946560"), "{:?}", booked(&answer));
}

/// What lay in an account that the venue closes for the seller is his rent and no proceeds.
#[test]
fn rent_that_comes_back_beside_a_sale_is_no_part_of_the_price() {
    let gone = |lamports: u64| {
        let mut draft = sold();
        draft.asks(TOKEN, &[TEMPORARY, WALLET, WALLET], &[9]);
        draft.holds(PROGRAM, lamports, 0);
        draft.holds(WALLET, 100 * SOL, 102 * SOL + lamports - FEE);
        draft.read()
    };
    // As much as no account needs is paid by somebody.
    let paid = gone(6_960 * 1_000_000);
    assert!(booked(&paid).iter().all(|(_, category, _)| *category != Category::AccountClose), "{:?}", booked(&paid));
    let answer = gone(6_960 * (128 + 80));
    assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "{:?}", answer.review_note);
    let booked = booked(&answer);
    assert!(booked.contains(&(Entry::Acquire, Category::Swap, "2000000000")), "{booked:?}");
    assert!(booked.contains(&(Entry::Unlock, Category::AccountClose, "1447680")), "{booked:?}");
}

/// An NFT of Metaplex Core has no token balance: the instruction alone says who gave it to whom.
#[test]
fn an_item_that_is_an_account_moves_though_no_balance_tells() {
    let core: Key =
        bs58::decode("CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d").into_vec().unwrap().try_into().unwrap();
    let item = (Some(name(&MINT)), "1");
    let sent = |giver: Key, getter: Key| {
        let mut draft = Draft::of_wallet(0);
        draft.asks(core, &[MINT, core, giver, core, getter, SYSTEM, core], &[14, 0]);
        draft.read()
    };
    let answer = sent(WALLET, OTHER);
    assert_eq!(legs(&answer), [(item.0.clone(), format!("-{}", item.1))], "{:?}", answer.description);
    assert_eq!(answer.category, Category::NftTransfer, "{:?}", answer.review_note);
    assert_eq!(legs(&sent(OTHER, WALLET)), [(item.0, item.1.to_owned())]);
}

/// Beside an exchange: an account whose size another instruction tells, a mint that nobody can close, and what a program takes for making an account.
#[test]
fn what_stays_in_accounts_is_told_from_what_making_them_costs() {
    let rent = |size: u64| 6_960 * (128 + size);
    let metadata: Key =
        bs58::decode("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s").into_vec().unwrap().try_into().unwrap();
    let (new_mint, page, charge) = ([11; 32], [12; 32], 10_000_000);
    let spent = rent(82) + rent(607) + charge;
    let mut draft = exchanged(-i64::try_from(spent).unwrap());
    let size_and_owner = [82_u64.to_le_bytes().as_slice(), &TOKEN].concat();
    draft.calls(SYSTEM, &[WALLET, new_mint], &[system(0, rent(82)), size_and_owner].concat());
    draft.holds(new_mint, 0, rent(82));
    draft.calls(SYSTEM, &[WALLET, page], &system(2, rent(607)));
    draft.calls(SYSTEM, &[page], &[[8, 0, 0, 0].as_slice(), &607_u64.to_le_bytes()].concat());
    draft.calls(SYSTEM, &[page], &[[1, 0, 0, 0].as_slice(), &metadata].concat());
    draft.calls(SYSTEM, &[WALLET, page], &system(2, charge));
    draft.holds(page, 0, rent(607) + charge);
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "{:?}", answer.review_note);
    let booked = booked(&answer);
    let (cost, kept) = ((rent(82) + charge).to_string(), rent(607).to_string());
    assert!(booked.contains(&(Entry::Expense, Category::FeePayment, cost.as_str())), "{booked:?}");
    assert!(booked.contains(&(Entry::Lock, Category::AccountOpen, kept.as_str())), "{booked:?}");
}

/// A marketplace closes the escrow account that an NFT waited in, in favour of whoever buys it: that coin is rent and not bought.
#[test]
fn rent_of_an_escrow_is_not_bought_with_what_was_in_it() {
    let magic_eden: Key =
        bs58::decode("M2mx93ekt1fmXSVkTrUL9xVFHkmME8HTUi5Cyc5aF7K").into_vec().unwrap().try_into().unwrap();
    let mut draft = Draft::of_wallet(i64::try_from(RENT).unwrap());
    let anchor = Sha256::digest("global:execute_sale");
    draft.asks(magic_eden, &[WALLET, OTHER, THEIRS], &anchor[..8]);
    draft.calls(TOKEN, &[THEIRS, MINE, PROGRAM], &transfer(1));
    draft.calls(TOKEN, &[THEIRS, WALLET, PROGRAM], &[9]);
    draft.holds(THEIRS, RENT, 0);
    draft.token(THEIRS, MINT, Some(PROGRAM), [Some(1), None]);
    draft.token(MINE, MINT, Some(WALLET), [Some(0), Some(1)]);
    draft.tokens.iter_mut().flatten().for_each(|held| held["uiTokenAmount"]["decimals"] = json!(0));
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::NftPurchase, false), "{:?}", answer.review_note);
    let rent = RENT.to_string();
    assert!(booked(&answer).contains(&(Entry::Unlock, Category::AccountClose, rent.as_str())), "{:?}", booked(&answer));
}
