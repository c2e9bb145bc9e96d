//! A report that changes every balance of stETH, asked for the wallets of holders: what it came to is read from two views at two blocks. The
//! nodes' answers are in words here, since no test can wait for a report.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

mod written;

use engine::{Account, Category, Classification, Policy, Question};
use serde_json::{Value, json};
use written::{BLOCK, said};

const STETH: &str = "0xae7ab96520de3a18e5e111b5eaab095312d7fe84";
const ORACLE: &str = "0x3333333333333333333333333333333333333333";
/// Held 100 by 90 shares, and holds 100.3 by as many.
const HOLDER: &str = "0x4444444444444444444444444444444444444444";
/// Sold half of its shares in the same block.
const SELLER: &str = "0x5555555555555555555555555555555555555555";
/// Never held any.
const NOBODY: &str = "0x6666666666666666666666666666666666666666";
/// The node has forgotten the block before for it.
const FORGOTTEN: &str = "0x7777777777777777777777777777777777777777";
const TOKEN_REBASED: &str = "0xff08c3ef606d198e316ef5b822193c489965899eb4e3c248cea1a4626c3eda50";

fn word(number: u128) -> String {
    format!("{number:064x}")
}

/// `balanceOf` or `sharesOf` of a holder at a block; without an amount the node refuses.
fn view(selector: &str, holder: &str, block: u64, amount: Option<u128>) -> Value {
    let data = format!("{selector}{:0>64}", holder.trim_start_matches("0x"));
    let params = json!([{ "to": STETH, "data": data }, format!("{block:#x}")]);
    said("eth_call", &params, amount.map(|amount| json!(format!("0x{}", word(amount)))))
}

/// `None` where the wallet is no part of it.
async fn asked(wallet: &str, policy: Policy) -> Option<Classification> {
    let totals = [86_400, 1000, 1000, 1000, 1003, 0].map(word).concat();
    let log = json!({ "address": STETH, "topics": [TOKEN_REBASED, format!("0x{}", word(7))], "data": format!("0x{totals}"), "logIndex": "0x5" });
    let (balance, shares) = ("0x70a08231", "0xf5eb42dc");
    let holds = |holder: &str, before: Option<[u128; 2]>, after: [u128; 2]| {
        [
            view(balance, holder, BLOCK - 1, before.map(|[balance, _]| balance)),
            view(shares, holder, BLOCK - 1, before.map(|[_, shares]| shares)),
            view(balance, holder, BLOCK, Some(after[0])),
            view(shares, holder, BLOCK, Some(after[1])),
        ]
    };
    let unit = 1_000_000_000_000_000_000;
    let answers = [
        holds(HOLDER, Some([100 * unit, 90 * unit]), [1003 * unit / 10, 90 * unit]),
        holds(SELLER, Some([100 * unit, 90 * unit]), [50 * unit, 45 * unit]),
        holds(NOBODY, Some([0, 0]), [0, 0]),
        holds(FORGOTTEN, None, [100 * unit, 90 * unit]),
    ];
    let question = Question { wallet: Some(Account::parse(wallet).unwrap()), policy, ..Question::default() };
    written::read("ethereum", (ORACLE, ORACLE), &[log], answers.into_iter().flatten(), &question).await
}

#[tokio::test]
async fn a_holder_earned_what_its_balance_grew_by() {
    let answer = asked(HOLDER, Policy::default()).await.expect("a holder");
    assert_eq!(answer.review_note, None);
    assert_eq!((answer.category, answer.taxable), (Category::StakingRebase, Some(true)));
    assert_eq!(answer.assets.received.first().unwrap().amount, "300000000000000000", "the tape knows no decimals");
    assert_eq!(answer.protocol.as_deref(), Some("Lido"));
    let mut policy = Policy::default();
    policy.set("staking", "defer");
    let deferred = asked(HOLDER, policy).await.expect("a holder");
    assert_eq!((deferred.category, deferred.taxable), (Category::StakingRebase, Some(false)));
}

#[tokio::test]
async fn what_cannot_be_known_is_left_to_a_person() {
    for wallet in [SELLER, FORGOTTEN] {
        let answer = asked(wallet, Policy::default()).await.expect("perhaps a holder");
        assert!(answer.needs_review && answer.taxable.is_none(), "{wallet}: {:?}", answer.description);
    }
}

#[tokio::test]
async fn who_holds_none_is_no_part_of_it() {
    assert!(asked(NOBODY, Policy::default()).await.is_none());
}
