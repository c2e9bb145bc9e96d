use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;

use super::*;
use crate::auth::{KeyError, Tier};
use crate::store::{Clock, Database, HistoryRow};

const HERE: &str = "192.0.2.7";
const PASSWORD: &str = "correct horse battery";
const NOON: i64 = 1_794_744_000_000;

struct Desk {
    accounts: Accounts,
    clock: Arc<AtomicI64>,
    _folder: TempDir,
}

impl std::ops::Deref for Desk {
    type Target = Accounts;

    fn deref(&self) -> &Accounts {
        &self.accounts
    }
}

impl Desk {
    /// Without a rate limit on calls: the limits on password attempts apply all the same.
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(NOON));
        let database = Database::Sqlite(folder.path().join("taxon.db"));
        let store = Store::open(&database, Clock::Manual(Arc::clone(&clock))).await.unwrap();
        let limits = Arc::new(Limits::new(store.clone(), 0));
        let accounts = Accounts { store, limits, passwords: Passwords::new(Cost::Least) };
        Self { accounts, clock, _folder: folder }
    }

    async fn joined(&self, email: &str) -> Person {
        self.sign_up(email, email, PASSWORD).await.unwrap();
        let token = self.sign_in(email, email, PASSWORD).await.unwrap();
        self.person(token.text()).await.unwrap().unwrap()
    }

    async fn can_enter(&self, email: &str, password: &str) -> bool {
        match self.sign_in(HERE, email, password).await {
            Ok(_) => true,
            Err(AccountError::Wrong) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_answered_as_any_other() {
    let desk = Desk::open().await;
    desk.sign_up(HERE, " Someone@Example.com ", PASSWORD).await.unwrap();
    desk.sign_up(HERE, "someone@example.com", "another password").await.unwrap();
    assert!(desk.can_enter("SOMEONE@example.com", PASSWORD).await);
    assert!(!desk.can_enter("someone@example.com", "another password").await);
    assert!(!desk.can_enter("nobody@example.com", PASSWORD).await);
    assert!(!desk.can_enter("no address\0", PASSWORD).await);
    assert!(!desk.can_enter("someone@example.com", &"x".repeat(1_000_000)).await);
}

#[tokio::test]
async fn what_is_no_address_or_password_is_told() {
    let desk = Desk::open().await;
    for (email, password) in [
        ("nobody", PASSWORD),
        ("a b@example.com", PASSWORD),
        ("a@example.com", "too short"),
        ("someone@example.com", "Someone@example.com"),
    ] {
        let refused = desk.sign_up(HERE, email, password).await;
        assert!(matches!(refused, Err(AccountError::Invalid(_))), "{email}");
    }
    assert!(desk.store.owners(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn guessing_is_limited_by_account_and_by_address() {
    let desk = Desk::open().await;
    desk.sign_up(HERE, "a@example.com", PASSWORD).await.unwrap();
    let seconds = |tried: Result<SecretToken, AccountError>| match tried {
        Err(AccountError::TooMany { seconds }) => Some(seconds),
        Ok(_) | Err(_) => None,
    };
    for _ in 0..5 {
        assert!(!desk.can_enter("a@example.com", "a wrong guess").await);
    }
    let wait = seconds(desk.sign_in(HERE, "A@example.com", PASSWORD).await).unwrap();
    assert!((1..=60).contains(&wait));
    for number in 0..4 {
        assert!(!desk.can_enter(&format!("{number}@example.com"), PASSWORD).await, "at many accounts");
    }
    assert!(seconds(desk.sign_in(HERE, "10@example.com", PASSWORD).await).is_some());
    for number in 0..4 {
        desk.sign_up(HERE, &format!("{number}@example.com"), PASSWORD).await.unwrap();
    }
    let refused = desk.sign_up(HERE, "4@example.com", PASSWORD).await;
    assert!(matches!(refused, Err(AccountError::TooMany { .. })));
}

#[tokio::test]
async fn strangers_slow_an_owner_down_and_lock_nobody_out() {
    let desk = Desk::open().await;
    desk.sign_up(HERE, "a@example.com", PASSWORD).await.unwrap();
    for number in 0..30 {
        let tried = desk.sign_in(&number.to_string(), "a@example.com", "a wrong guess").await;
        assert!(matches!(tried, Err(AccountError::Wrong)), "from many addresses");
    }
    let began = std::time::Instant::now();
    assert!(desk.can_enter("a@example.com", PASSWORD).await, "the owner comes in all the same");
    assert!(began.elapsed() >= SLOWED);
}

#[tokio::test]
async fn a_session_lasts_thirty_days_from_its_last_use() {
    let desk = Desk::open().await;
    desk.sign_up(HERE, "a@example.com", PASSWORD).await.unwrap();
    let token = desk.sign_in(HERE, "a@example.com", PASSWORD).await.unwrap();
    assert_eq!((token.text().len(), format!("{token:?}").as_str()), (64, "Token (redacted)"));
    assert!(desk.person("").await.unwrap().is_none());
    for day in [29, 58] {
        desk.clock.store(NOON + day * 86_400_000, Ordering::SeqCst);
        assert!(desk.person(token.text()).await.unwrap().is_some());
    }
    desk.clock.store(NOON + 88 * 86_400_000, Ordering::SeqCst);
    assert!(desk.person(token.text()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_password_is_changed_with_the_old_one() {
    let desk = Desk::open().await;
    let person = desk.joined("a@example.com").await;
    let wrong = desk.change_password(HERE, &person, "not the old one", "a new password").await;
    assert!(matches!(wrong, Err(AccountError::Wrong)));
    let token = desk.change_password(HERE, &person, PASSWORD, "a new password").await.unwrap();
    assert_eq!(desk.person(token.text()).await.unwrap(), Some(person));
    assert!(desk.can_enter("a@example.com", "a new password").await);
    assert!(!desk.can_enter("a@example.com", PASSWORD).await);
}

#[tokio::test]
async fn sign_up_can_be_closed_by_an_operator_only() {
    let desk = Desk::open().await;
    let person = desk.joined("a@example.com").await;
    assert!(person.operator().is_none());
    let link = desk.first_link().await.unwrap().unwrap();
    assert_eq!(desk.link_kind(link.text()).await.unwrap(), Some(LinkKind::Operator));
    let wrong = desk.take_link(HERE, link.text(), "a@example.com", "not the password").await;
    assert!(matches!(wrong, Err(AccountError::Wrong)), "the link takes over no account");
    let token = desk.take_link(HERE, link.text(), "a@example.com", PASSWORD).await.unwrap();
    let operator = desk.person(token.text()).await.unwrap().unwrap().operator().unwrap();
    assert!(desk.first_link().await.unwrap().is_none(), "there is an operator");
    assert!(matches!(
        desk.take_link(HERE, link.text(), "b@example.com", PASSWORD).await,
        Err(AccountError::Invalid(_))
    ));
    desk.set_sign_up(&operator, false).await.unwrap();
    assert!(matches!(desk.sign_up(HERE, "b@example.com", PASSWORD).await, Err(AccountError::Closed)));
    desk.set_sign_up(&operator, true).await.unwrap();
    desk.sign_up(HERE, "b@example.com", PASSWORD).await.unwrap();
    let owners = desk.owners(&operator, None, 10).await.unwrap();
    assert_eq!(owners.iter().filter(|owner| owner.is_operator).count(), 1);
    assert!(desk.set_tier(&operator, &person.owner_id, Tier::Pro, None).await.unwrap());
    assert!(!desk.set_tier(&operator, "nobody\0", Tier::Pro, None).await.unwrap());
    for (tier, pool) in [(Tier::Partner, None), (Tier::Enterprise, Some(-1))] {
        let refused = desk.set_tier(&operator, &person.owner_id, tier, pool).await;
        assert!(matches!(refused, Err(AccountError::Invalid(_))));
    }
    desk.create_key(&person, "").await.unwrap();
    assert_eq!(desk.revoke_all(&operator, &person.owner_id).await.unwrap(), 1);
}

#[tokio::test]
async fn the_first_account_becomes_operator_by_the_link() {
    let desk = Desk::open().await;
    let link = desk.first_link().await.unwrap().unwrap();
    let weak = desk.take_link(HERE, link.text(), "a@example.com", "short").await;
    assert!(matches!(weak, Err(AccountError::Invalid(_))), "a bad form does not use the link up");
    let token = desk.take_link(HERE, link.text(), "A@example.com", PASSWORD).await.unwrap();
    let person = desk.person(token.text()).await.unwrap().unwrap();
    assert_eq!((person.email.as_str(), person.is_operator), ("a@example.com", true));
    desk.delete(HERE, &person, PASSWORD).await.unwrap();
    assert!(desk.first_link().await.unwrap().is_some(), "the instance is without an operator again");
}

#[tokio::test]
async fn a_link_claims_an_owner_without_an_account() {
    let desk = Desk::open().await;
    let key = auth::create(&desk.store, "a@example.com", Tier::Pro, "by hand", None).await.unwrap();
    desk.sign_up(HERE, "a@example.com", PASSWORD).await.unwrap();
    assert!(!desk.can_enter("a@example.com", PASSWORD).await, "signing up hands nobody's keys over");
    let link = desk.password_link("A@example.com").await.unwrap();
    let kind = desk.link_kind(link.text()).await.unwrap();
    assert_eq!(kind, Some(LinkKind::Password { email: "a@example.com".to_owned() }));
    let same = desk.take_link(HERE, link.text(), "", "a@example.com").await;
    assert!(matches!(same, Err(AccountError::Invalid(_))), "the address is no password");
    let token = desk.take_link(HERE, link.text(), "", PASSWORD).await.unwrap();
    let person = desk.person(token.text()).await.unwrap().unwrap();
    let keys = desk.keys(&person).await.unwrap();
    assert!(key.text.contains(&keys[0].id) && !person.is_operator);
    assert_eq!(desk.owner(&person).await.unwrap().unwrap().tier, "pro");
    assert!(matches!(desk.password_link("nobody").await, Err(AccountError::Invalid(_))));
}

#[tokio::test]
async fn keys_are_ones_own_and_bounded() {
    let desk = Desk::open().await;
    let (person, other) = (desk.joined("a@example.com").await, desk.joined("b@example.com").await);
    let key = desk.create_key(&person, "first").await.unwrap();
    let auth = auth::Auth::new(desk.store.clone(), 1_500);
    assert_eq!(auth.caller(&key).await.unwrap().unwrap().payer.id, person.owner_id);
    let id = desk.keys(&person).await.unwrap()[0].id.clone();
    assert!(!desk.revoke_key(&other, &id).await.unwrap() && !desk.rename_key(&other, &id, "mine").await.unwrap());
    assert!(!desk.revoke_key(&person, "\0").await.unwrap() && !desk.rename_key(&person, "\0", "x").await.unwrap());
    assert!(desk.rename_key(&person, &id, "second").await.unwrap());
    assert!(matches!(desk.rename_key(&person, &id, "\n").await, Err(KeyError::Name)));
    assert!(matches!(desk.create_key(&person, &"x".repeat(201)).await, Err(KeyError::Name)));
    for _ in 1..own::KEYS_MAX {
        desk.create_key(&person, "").await.unwrap();
    }
    assert!(matches!(desk.create_key(&person, "").await, Err(KeyError::TooMany)));
    assert!(desk.keys(&other).await.unwrap().is_empty());
    assert!(desk.revoke_key(&person, &id).await.unwrap());
    desk.create_key(&person, "").await.unwrap();
}

#[tokio::test]
async fn what_is_looked_for_stays_within_bounds() {
    let desk = Desk::open().await;
    let person = desk.joined("a@example.com").await;
    let reading = HistoryRow {
        owner_id: person.owner_id.clone(),
        hash: "0xab".to_owned(),
        wallet: "w".to_owned(),
        chain: "demo".to_owned(),
        category: "unclassified",
        treatment: "needs_review",
        taxable: None,
        confidence: 10,
        needs_review: true,
        protocol: None,
        note: None,
        time: 0,
        at: NOON,
        rules: String::new(),
        for_review: None,
    };
    desk.store.write_history(&[reading], &[]).await.unwrap();
    let hostile = Recent { text: Some("\0".to_owned()), ..Recent::default() };
    assert!(desk.recent(&person.owner_id, &hostile, 10).await.unwrap().is_empty());
    assert_eq!(desk.recent(&person.owner_id, &Recent::default(), i64::MAX).await.unwrap().len(), 1);
    assert_eq!(desk.usage(&person.owner_id, 7).await.unwrap().len(), 7);
}

#[tokio::test]
async fn whoever_leaves_shows_the_password_and_is_erased() {
    let desk = Desk::open().await;
    let (person, other) = (desk.joined("a@example.com").await, desk.joined("b@example.com").await);
    assert!(matches!(desk.delete(HERE, &person, "a wrong guess").await, Err(AccountError::Wrong)));
    let link = desk.password_link("a@example.com").await.unwrap();
    desk.take_link(HERE, link.text(), "", PASSWORD).await.unwrap();
    assert!(desk.store.make_operator("a@example.com").await.unwrap());
    assert!(matches!(desk.delete(HERE, &person, PASSWORD).await, Err(AccountError::Invalid(_))), "the last operator");
    desk.create_key(&other, "mine").await.unwrap();
    desk.delete(HERE, &other, PASSWORD).await.unwrap();
    let key = desk.keys(&other).await.unwrap().remove(0);
    assert!(key.revoked_at.is_some() && key.name.is_empty() && !auth::is_email(&key.email));
    assert!(!desk.can_enter("b@example.com", PASSWORD).await);
    desk.delete(HERE, &person, PASSWORD).await.unwrap();
}
