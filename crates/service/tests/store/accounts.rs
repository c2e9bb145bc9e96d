//! Accounts, sessions, links, and what one owner sees of another: nothing.

use std::time::Duration;

use taxon::store::{Billing, Clock, Link, NewKey, NewSession, SettleOutcome, Store};

use super::engines::{DAY, Engine, NOON, SECOND, engines, payer, reserve, settle};

const MONTH: Duration = Duration::from_secs(30 * 86_400);
const A_DAY: Duration = Duration::from_secs(86_400);

fn session(token: &str) -> NewSession {
    NewSession { token_hash: token.as_bytes().to_vec(), span: MONTH }
}

/// Signed up, and signed in with the token `<owner>-token`.
async fn sign_up(store: &Store, owner: &str) {
    assert!(store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
    assert!(store.begin_session(owner, "hash", &session(&format!("{owner}-token"))).await.unwrap());
}

/// Opens a link that the operator handed over, and signs in with the token `<owner>-token`.
async fn prove(store: &Store, owner: &str) {
    store.password_link("unused", &format!("{owner}@example.com"), b"proof", A_DAY).await.unwrap();
    assert!(store.take_password_link(b"proof", "hash", &session(&format!("{owner}-token"))).await.unwrap());
}

/// The owner whose session it is.
async fn whose(store: &Store, token: &str) -> Option<String> {
    store.session(token.as_bytes(), MONTH, A_DAY).await.unwrap().map(|row| row.owner_id)
}

async fn key(store: &Store, owner: &str, id: &str) -> bool {
    store.create_owner_key(owner, id, format!("hash of {id}").as_bytes(), "a name", 3).await.unwrap()
}

async fn operator(engine: &Engine, owner: &str) -> bool {
    engine.store.owner(owner).await.unwrap().unwrap().is_operator
}

#[tokio::test]
async fn an_address_is_taken_once_and_an_owner_without_account_is_not_handed_over() {
    for engine in engines().await {
        let store = &engine.store;
        assert!(store.create_account("a", "a@example.com", "first").await.unwrap());
        assert!(!store.create_account("b", "a@example.com", "second").await.unwrap(), "{}", engine.name);
        let account = store.account("a@example.com").await.unwrap().unwrap();
        assert_eq!((account.owner_id.as_str(), account.password_hash.as_str()), ("a", "first"));
        assert!(!account.is_operator);
        store.create_key(&made_by_hand("cccccccc", "c@example.com")).await.unwrap();
        assert!(!store.create_account("d", "c@example.com", "hash").await.unwrap());
        assert!(store.account("c@example.com").await.unwrap().is_none());
    }
}

fn made_by_hand(id: &str, email: &str) -> NewKey {
    NewKey {
        id: id.to_owned(),
        hash: format!("hash of {id}").into_bytes(),
        email: email.to_owned(),
        name: String::new(),
        owner_id: format!("owner of {id}"),
        billing: Billing::Pool { tier: "pro".to_owned(), contracted: None },
    }
}

#[tokio::test]
async fn sessions_end_unless_they_are_used() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        assert_eq!(whose(store, "a-token").await.as_deref(), Some("a"), "{}", engine.name);
        assert_eq!(whose(store, "another").await, None);
        engine.set_clock(NOON + 29 * DAY);
        assert!(whose(store, "a-token").await.is_some(), "used on the 29th day");
        engine.set_clock(NOON + 58 * DAY);
        assert!(whose(store, "a-token").await.is_some(), "so it is valid for 30 days from there");
        engine.set_clock(NOON + 88 * DAY - SECOND);
        store.sweep_accounts().await.unwrap();
        engine.set_clock(NOON + 88 * DAY);
        assert_eq!(whose(store, "a-token").await, None);
        store.sweep_accounts().await.unwrap();
        assert_eq!(engine.sql("DELETE FROM sessions").await.unwrap(), 0, "what has ended is swept away");
    }
}

#[tokio::test]
async fn a_session_is_prolonged_once_a_day_and_not_on_every_page() {
    for engine in engines().await {
        sign_up(&engine.store, "a").await;
        let prolonged = async |at: i64| {
            engine.set_clock(NOON + at);
            whose(&engine.store, "a-token").await.unwrap();
            engine.store.session(b"a-token", MONTH, A_DAY).await.unwrap().unwrap()
        };
        let first = prolonged(0).await;
        assert_eq!(first, prolonged(DAY - SECOND).await, "{}", engine.name);
        assert_ne!(first, prolonged(DAY).await);
    }
}

#[tokio::test]
async fn signing_out_ends_one_session_or_all() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        sign_up(store, "b").await;
        assert!(store.begin_session("a", "hash", &session("second")).await.unwrap());
        store.end_session(b"second").await.unwrap();
        assert_eq!((whose(store, "second").await, whose(store, "a-token").await.is_some()), (None, true));
        assert!(store.begin_session("a", "hash", &session("third")).await.unwrap());
        store.end_sessions("a").await.unwrap();
        assert_eq!((whose(store, "third").await, whose(store, "a-token").await), (None, None), "{}", engine.name);
        assert!(whose(store, "b-token").await.is_some());
    }
}

#[tokio::test]
async fn the_oldest_of_too_many_sessions_ends() {
    for engine in engines().await {
        sign_up(&engine.store, "a").await;
        for number in 0..20 {
            engine.set_clock(NOON + (number + 1) * SECOND);
            assert!(engine.store.begin_session("a", "hash", &session(&number.to_string())).await.unwrap());
        }
        assert_eq!(whose(&engine.store, "a-token").await, None, "{}", engine.name);
        assert!(whose(&engine.store, "0").await.is_some());
    }
}

#[tokio::test]
async fn a_changed_password_ends_all_sessions_and_the_old_one_opens_none() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        assert!(!store.change_password("a", "no longer", "new", &session("x")).await.unwrap());
        assert!(whose(store, "a-token").await.is_some());
        assert!(store.change_password("a", "hash", "new", &session("new")).await.unwrap());
        assert_eq!(whose(store, "a-token").await, None, "{}", engine.name);
        assert!(whose(store, "new").await.is_some());
        assert!(!store.begin_session("a", "hash", &session("late")).await.unwrap());
        assert_eq!(whose(store, "late").await, None);
    }
}

#[tokio::test]
async fn the_first_operator_comes_by_a_link_that_works_once() {
    for engine in engines().await {
        let store = &engine.store;
        assert!(store.operator_link(b"older", A_DAY).await.unwrap());
        assert!(store.operator_link(b"link", A_DAY).await.unwrap());
        assert_eq!(store.link(b"older").await.unwrap(), None, "a new link ends the older");
        assert_eq!(store.link(b"link").await.unwrap(), Some(Link::Operator));
        let take = async |link: &str, owner: &str, known: Option<&str>, token: &str| {
            let email = format!("{owner}@example.com");
            store.take_operator_link(link.as_bytes(), owner, &email, known, "hash", &session(token)).await.unwrap()
        };
        assert!(!take("older", "a", None, "x").await && !take("no link", "a", None, "x").await);
        sign_up(store, "taken").await;
        assert!(!take("link", "taken", None, "x").await, "an existing account is not overwritten");
        assert!(!take("link", "taken", Some("another hash"), "x").await);
        assert!(store.link(b"link").await.unwrap().is_some(), "and the link is still valid");
        assert!(take("link", "a", None, "a-token").await, "{}", engine.name);
        assert!(whose(store, "a-token").await.is_some() && operator(&engine, "a").await);
        assert!(!take("link", "b", None, "x").await, "it works once");
        assert!(!store.operator_link(b"another", A_DAY).await.unwrap(), "there is an operator now");
        assert_eq!(store.link(b"another").await.unwrap(), None);
        assert!(store.account("b@example.com").await.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_account_becomes_operator_with_its_own_password() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        assert!(store.operator_link(b"link", A_DAY).await.unwrap());
        let taken =
            store.take_operator_link(b"link", "x", "a@example.com", Some("hash"), "hash", &session("new")).await;
        assert!(taken.unwrap() && operator(&engine, "a").await, "{}", engine.name);
        sign_up(store, "b").await;
        assert!(!store.make_operator("b@example.com").await.unwrap(), "whoever signed up may be anybody");
        prove(store, "b").await;
        assert!(store.make_operator("b@example.com").await.unwrap() && operator(&engine, "b").await);
        assert!(!store.make_operator("nobody@example.com").await.unwrap());
    }
}

#[tokio::test]
async fn a_link_sets_the_password_of_the_owner_that_it_names() {
    for engine in engines().await {
        let store = &engine.store;
        store.create_key(&made_by_hand("cccccccc", "c@example.com")).await.unwrap();
        store.password_link("unused", "c@example.com", b"older", A_DAY).await.unwrap();
        store.password_link("unused", "c@example.com", b"link", A_DAY).await.unwrap();
        assert_eq!(store.link(b"older").await.unwrap(), None);
        let named = Link::Password { owner_id: "owner of cccccccc".to_owned(), email: "c@example.com".to_owned() };
        assert_eq!(store.link(b"link").await.unwrap(), Some(named), "{}", engine.name);
        assert!(store.take_password_link(b"link", "first", &session("first")).await.unwrap());
        assert_eq!(whose(store, "first").await.as_deref(), Some("owner of cccccccc"));
        assert!(!store.take_password_link(b"link", "x", &session("x")).await.unwrap(), "it works once");
        store.password_link("unused", "c@example.com", b"again", A_DAY).await.unwrap();
        assert!(store.take_password_link(b"again", "second", &session("second")).await.unwrap());
        assert_eq!(whose(store, "first").await, None, "whoever was signed in no longer is");
        assert_eq!(store.account("c@example.com").await.unwrap().unwrap().password_hash, "second");

        store.password_link("new", "new@example.com", b"late", A_DAY).await.unwrap();
        engine.set_clock(NOON + DAY);
        assert!(!store.take_password_link(b"late", "x", &session("x")).await.unwrap(), "it lasts a day");
        store.sweep_accounts().await.unwrap();
        assert_eq!(engine.sql("DELETE FROM links").await.unwrap(), 0);
    }
}

#[tokio::test]
async fn nobody_sees_or_touches_the_keys_of_another() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        sign_up(store, "b").await;
        assert!(key(store, "a", "aaaaaaaa").await && key(store, "b", "bbbbbbbb").await);
        let ids = async |owner: &str| {
            store.owner_keys(owner).await.unwrap().into_iter().map(|key| key.id).collect::<Vec<String>>()
        };
        assert_eq!((ids("a").await, ids("b").await), (vec!["aaaaaaaa".to_owned()], vec!["bbbbbbbb".to_owned()]));
        assert!(!store.rename_owner_key("a", "bbbbbbbb", "mine").await.unwrap());
        assert!(!store.revoke_owner_key("a", "bbbbbbbb").await.unwrap());
        let untouched = store.key("bbbbbbbb").await.unwrap().unwrap();
        assert_eq!((untouched.name.as_str(), untouched.revoked_at), ("a name", None), "{}", engine.name);
        assert!(store.rename_owner_key("b", "bbbbbbbb", "mine").await.unwrap());
        assert!(store.revoke_owner_key("b", "bbbbbbbb").await.unwrap());
        let revoked = store.key("bbbbbbbb").await.unwrap().unwrap();
        assert_eq!((revoked.name.as_str(), revoked.revoked_at), ("mine", Some(NOON / 1000)));
        assert!(!key(store, "nobody", "nnnnnnnn").await);
    }
}

#[tokio::test]
async fn so_many_keys_are_valid_and_the_revoked_make_room() {
    for engine in engines().await {
        let store = &engine.store;
        store.create_key(&made_by_hand("cccccccc", "c@example.com")).await.unwrap();
        let owner = "owner of cccccccc";
        assert!(key(store, owner, "2").await && key(store, owner, "3").await);
        assert!(!key(store, owner, "4").await, "{}", engine.name);
        assert!(store.revoke_owner_key(owner, "2").await.unwrap());
        assert!(key(store, owner, "4").await);
        let keys = store.owner_keys(owner).await.unwrap();
        assert_eq!(keys.last().unwrap().id, "2", "the revoked are last");
        let same = Billing::Pool { tier: "pro".to_owned(), contracted: None };
        assert!(keys.iter().all(|key| key.billing == same), "a key of one's own moves nobody to another tier");
        assert_eq!(store.revoke_owner_keys(owner).await.unwrap(), 3);
        assert_eq!(store.owner(owner).await.unwrap().unwrap().keys, 0);
        for number in 0..105 {
            engine.set_clock(NOON + number * SECOND);
            assert!(key(store, owner, &format!("k{number}")).await);
            store.revoke_owner_keys(owner).await.unwrap();
        }
        assert_eq!(store.owner_keys(owner).await.unwrap().len(), 101, "what was revoked long ago is forgotten");
    }
}

#[tokio::test]
async fn whoever_leaves_is_erased_and_the_ledger_stays() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        sign_up(store, "b").await;
        assert!(key(store, "a", "aaaaaaaa").await && key(store, "b", "bbbbbbbb").await);
        for owner in ["a", "b"] {
            let pool = payer(owner, Some(10));
            let turned = store.turn(reserve(&pool, owner, &["h1"])).await.unwrap();
            store.turn(settle(&pool, owner, &turned.period, &[("h1", SettleOutcome::Billable)], &[])).await.unwrap();
            let refusal = super::history::refusal(owner, 20_772, "rate_limited", 1);
            store.write_history(&[super::history::reading(owner, "h1", "w", NOON)], &[refusal]).await.unwrap();
        }
        store.password_link("unused", "a@example.com", b"link", A_DAY).await.unwrap();
        assert!(store.delete_account("a", "deleted:x").await.unwrap());
        assert!(store.account("a@example.com").await.unwrap().is_none());
        assert_eq!((whose(store, "a-token").await, store.link(b"link").await.unwrap()), (None, None));
        let gone = store.key("aaaaaaaa").await.unwrap().unwrap();
        assert_eq!((gone.name.as_str(), gone.email.as_str(), gone.revoked_at), ("", "deleted:x", Some(NOON / 1000)));
        assert!(!key(store, "a", "zzzzzzzz").await, "who has left makes no keys");
        let rows = store.entries(&taxon::store::LedgerFilter::default(), None).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.payer.as_str()).collect::<Vec<_>>(), ["a", "b"], "{}", engine.name);
        assert_eq!(store.imbalances().await.unwrap(), []);
        // What was on its way when the owner left.
        let late = [super::history::reading("a", "h2", "w", NOON), super::history::reading("b", "h2", "w", NOON)];
        store.write_history(&late, &[super::history::refusal("a", 20_772, "rate_limited", 1)]).await.unwrap();
        for (table, statement) in [
            ("readings", "DELETE FROM readings WHERE owner_id = 'a'"),
            ("reviews", "DELETE FROM reviews WHERE owner_id = 'a'"),
            ("refusals", "DELETE FROM refusals WHERE owner_id = 'a'"),
            ("sessions", "DELETE FROM sessions WHERE owner_id = 'a'"),
            ("accounts", "DELETE FROM accounts WHERE owner_id = 'a'"),
        ] {
            assert_eq!(engine.sql(statement).await.unwrap(), 0, "{table}, {}", engine.name);
        }
        assert!(
            whose(store, "b-token").await.is_some()
                && store.key("bbbbbbbb").await.unwrap().unwrap().revoked_at.is_none()
        );
        assert_eq!(store.readings("b", &Default::default(), 10).await.unwrap().len(), 2);
        assert!(store.owner("a").await.unwrap().is_none());
        assert_eq!(store.owners(None, 10).await.unwrap().len(), 1);
        assert!(store.create_account("c", "a@example.com", "hash").await.unwrap(), "the address is free again");
    }
}

#[tokio::test]
async fn the_last_operator_stays_while_others_have_accounts() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        sign_up(store, "b").await;
        prove(store, "b").await;
        prove(store, "a").await;
        assert!(store.make_operator("a@example.com").await.unwrap());
        assert!(!store.delete_account("a", "deleted:a").await.unwrap(), "{}", engine.name);
        assert!(store.account("a@example.com").await.unwrap().is_some() && whose(store, "a-token").await.is_some());
        assert!(store.make_operator("b@example.com").await.unwrap());
        assert!(store.delete_account("a", "deleted:a").await.unwrap(), "another operator remains");
        assert!(store.delete_account("b", "deleted:b").await.unwrap(), "nobody else is there");
        assert!(store.operator_link(b"link", A_DAY).await.unwrap(), "and the next start gives out a link");
    }
}

/// Two operators who leave at the same moment: one of them stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_operators_do_not_leave_at_once() {
    for engine in engines().await {
        for owner in ["a", "b", "c"] {
            sign_up(&engine.store, owner).await;
        }
        for owner in ["a", "b"] {
            prove(&engine.store, owner).await;
            assert!(engine.store.make_operator(&format!("{owner}@example.com")).await.unwrap());
        }
        let leave = |owner: &'static str| {
            let store = engine.store.clone();
            tokio::spawn(async move { store.delete_account(owner, &format!("deleted:{owner}")).await.unwrap() })
        };
        let (first, second) = (leave("a"), leave("b"));
        assert!(first.await.unwrap() != second.await.unwrap(), "{}", engine.name);
    }
}

#[tokio::test]
async fn the_operator_pages_through_owners_and_sets_their_tier() {
    for engine in engines().await {
        let store = &engine.store;
        for owner in ["b", "a", "c"] {
            sign_up(store, owner).await;
        }
        assert!(key(store, "b", "bbbbbbbb").await);
        let pool = payer("b", Some(10));
        let turned = store.turn(reserve(&pool, "call", &["h1"])).await.unwrap();
        store.turn(settle(&pool, "call", &turned.period, &[("h1", SettleOutcome::Billable)], &[])).await.unwrap();
        let page = store.owners(None, 2).await.unwrap();
        assert_eq!(page.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["a", "b"], "{}", engine.name);
        assert_eq!((page[1].keys, page[1].used, page[1].created_at), (1, 1, NOON / 1000));
        assert_eq!((page[1].has_account, page[1].is_operator, page[1].pool), (true, false, None));
        let rest = store.owners(Some(&page[1].email), 2).await.unwrap();
        assert_eq!(rest.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["c"]);
        assert!(page[1].is_unproved && !store.set_tier("b", "enterprise", Some(7)).await.unwrap(), "anybody signs up");
        prove(store, "b").await;
        assert!(!store.owner("b").await.unwrap().unwrap().is_unproved);
        assert!(key(store, "b", "bbbbbbb2").await);
        assert!(store.set_tier("b", "enterprise", Some(7)).await.unwrap());
        let billing = store.key("bbbbbbb2").await.unwrap().unwrap().billing;
        assert_eq!(billing, Billing::Pool { tier: "enterprise".to_owned(), contracted: Some(7) });
        assert!(!store.set_tier("nobody", "pro", None).await.unwrap());
    }
}

#[tokio::test]
async fn settings_are_kept() {
    for engine in engines().await {
        assert_eq!(engine.store.setting("sign_up").await.unwrap(), None);
        for value in ["off", "on"] {
            engine.store.set_setting("sign_up", value).await.unwrap();
            assert_eq!(engine.beside().await.setting("sign_up").await.unwrap().as_deref(), Some(value));
        }
    }
}

/// As in service: on the machine's clock, or on the database's.
#[tokio::test]
async fn the_clock_that_counts_is_the_stores_own() {
    for engine in engines().await {
        let store = Store::open(&engine.database, Clock::System).await.unwrap();
        let machine = jiff::Timestamp::now().as_millisecond();
        assert!((store.now().await.unwrap() - machine).abs() < 60 * SECOND, "{}", engine.name);
        sign_up(&store, "a").await;
        assert_eq!(whose(&store, "a-token").await.as_deref(), Some("a"));
        assert_eq!(store.usage("a", 2).await.unwrap().len(), 2);
        assert_eq!(store.owners(None, 10).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn whoever_only_signed_up_has_no_part_in_a_key_that_the_operator_makes() {
    for engine in engines().await {
        let store = &engine.store;
        store.create_account("stranger", "c@example.com", "hash").await.unwrap();
        assert!(store.begin_session("stranger", "hash", &session("stranger-token")).await.unwrap());
        assert!(key(store, "stranger", "strange1").await);
        assert!(store.create_key(&made_by_hand("cccccccc", "c@example.com")).await.unwrap(), "{}", engine.name);
        assert!(
            !store.create_key(&made_by_hand("cccccc22", "c@example.com")).await.unwrap(),
            "there is nobody to set aside"
        );
        let made = store.key("cccccccc").await.unwrap().unwrap();
        assert_eq!((made.owner_id.as_str(), made.email.as_str()), ("owner of cccccccc", "c@example.com"));
        assert_eq!(store.key("cccccc22").await.unwrap().unwrap().owner_id, made.owner_id);
        assert_eq!(whose(store, "stranger-token").await, None);
        assert!(store.account("c@example.com").await.unwrap().is_none());
        assert!(!store.begin_session("stranger", "hash", &session("again")).await.unwrap());
        assert!(
            !key(store, "stranger", "strange2").await && !store.revoke_owner_key("stranger", "cccccccc").await.unwrap()
        );
        let dev = Billing::Pool { tier: "dev".to_owned(), contracted: None };
        assert_eq!(store.key("strange1").await.unwrap().unwrap().billing, dev, "its own key keeps its own pool");
        assert!(!store.create_account("other", "c@example.com", "hash").await.unwrap(), "nobody signs up there again");

        prove(store, "c").await;
        assert_eq!(whose(store, "c-token").await.as_deref(), Some("owner of cccccccc"), "the owner claimed it");
        assert!(store.key("cccccccc").await.unwrap().unwrap().revoked_at.is_none());
        assert!(!store.create_key(&made_by_hand("cccccc33", "c@example.com")).await.unwrap());
        assert_eq!(store.key("cccccc33").await.unwrap().unwrap().owner_id, made.owner_id);
    }
}

#[tokio::test]
async fn keys_of_whoever_only_signed_up_end_when_the_owner_comes() {
    for engine in engines().await {
        let store = &engine.store;
        sign_up(store, "a").await;
        assert!(key(store, "a", "aaaaaaaa").await);
        prove(store, "a").await;
        assert!(store.key("aaaaaaaa").await.unwrap().unwrap().revoked_at.is_some(), "{}", engine.name);
        assert!(key(store, "a", "aaaaaa22").await);
        prove(store, "a").await;
        assert!(
            store.key("aaaaaa22").await.unwrap().unwrap().revoked_at.is_none(),
            "a second link sets a password only"
        );
    }
}
