//! Rate limits: a true sliding window, at most so many requests in any 60 seconds. With PostgreSQL the windows are in the database, for all
//! instances; else they are in memory, on the monotonic clock.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Store, StoreError};

const SPAN: Duration = Duration::from_secs(60);
/// Windows of addresses and accounts at once. Past it, new ones are refused until a window expires; keys are not affected.
const STRANGERS_MAX: usize = 200_000;
/// Callers known to be over their limit, who are refused without asking the database again.
const REFUSED_MAX: usize = 50_000;
const PASSWORDS_BY_ADDRESS_MAX: u32 = 10;
const PASSWORDS_BY_ACCOUNT_AND_ADDRESS_MAX: u32 = 5;
const PASSWORDS_BY_ACCOUNT_MAX: u32 = 30;
const SIGN_UPS_MAX: u32 = 5;
const WEBHOOK_FORMS_MAX: u32 = 30;

/// Who is counted, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counted<'a> {
    Classify {
        key_id: &'a str,
    },
    /// A payer without a key: an owner who is signed in, or an address.
    ClassifyByPayer(&'a str),
    /// Calls of an owner's jobs. Their window is as large as that of a key and apart from it, so that a job holds up no other call.
    Job {
        owner_id: &'a str,
    },
    StatusByKey {
        key_id: &'a str,
    },
    StatusByAddress(&'a str),
    /// Requests without a valid key.
    Unauthorized(&'a str),
    /// Password attempts from one address.
    PasswordByAddress(&'a str),
    /// Password attempts at one account from one address. Only these are refused: an owner elsewhere must not be locked out.
    PasswordByAccountAndAddress {
        account: &'a str,
        address: &'a str,
    },
    /// Password attempts at one account, from anywhere, past which each is slowed down. The name is a hash, since an e-mail address is stored only in its row.
    PasswordByAccount(&'a str),
    SignUp(&'a str),
    /// What an owner does to webhooks: each may look a name up or send a message.
    Webhook {
        owner_id: &'a str,
    },
}

impl Counted<'_> {
    fn name(self) -> String {
        match self {
            Self::Classify { key_id } => format!("key:{key_id}"),
            Self::ClassifyByPayer(payer) => format!("payer:{payer}"),
            Self::Job { owner_id } => format!("job:{owner_id}"),
            Self::StatusByKey { key_id } => format!("status:key:{key_id}"),
            Self::StatusByAddress(address) => format!("status:{address}"),
            Self::Unauthorized(address) => format!("401:{address}"),
            Self::PasswordByAddress(address) => format!("password:{address}"),
            Self::PasswordByAccountAndAddress { account, address } => format!("password:account:{account}:{address}"),
            Self::PasswordByAccount(account) => format!("password:account:{account}"),
            Self::SignUp(address) => format!("sign-up:{address}"),
            Self::Webhook { owner_id } => format!("webhook:{owner_id}"),
        }
    }

    /// How many in any 60 seconds; `None` without a limit. The operator cannot switch off the limits on password attempts.
    fn most(self, per_minute: u32) -> Option<u32> {
        match self {
            Self::Classify { .. }
            | Self::ClassifyByPayer(_)
            | Self::Job { .. }
            | Self::StatusByKey { .. }
            | Self::StatusByAddress(_)
            | Self::Unauthorized(_) => Some(per_minute).filter(|most| *most > 0),
            Self::PasswordByAddress(_) => Some(PASSWORDS_BY_ADDRESS_MAX),
            Self::PasswordByAccountAndAddress { .. } => Some(PASSWORDS_BY_ACCOUNT_AND_ADDRESS_MAX),
            Self::PasswordByAccount(_) => Some(PASSWORDS_BY_ACCOUNT_MAX),
            Self::SignUp(_) => Some(SIGN_UPS_MAX),
            Self::Webhook { .. } => Some(WEBHOOK_FORMS_MAX),
        }
    }

    /// Whether a caller can invent any number of these, so that their count must be bounded.
    fn is_strange(self) -> bool {
        match self {
            Self::Classify { .. } | Self::Job { .. } | Self::StatusByKey { .. } | Self::Webhook { .. } => false,
            Self::ClassifyByPayer(_)
            | Self::StatusByAddress(_)
            | Self::Unauthorized(_)
            | Self::PasswordByAddress(_)
            | Self::PasswordByAccountAndAddress { .. }
            | Self::PasswordByAccount(_)
            | Self::SignUp(_) => true,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Limits {
    /// 0: no limit.
    per_minute: u32,
    store: Store,
    keys: Mutex<Windows>,
    strangers: Mutex<Windows>,
    refused: Mutex<HashMap<String, Instant>>,
}

impl Limits {
    pub(crate) fn new(store: Store, per_minute: u32) -> Self {
        Self {
            per_minute,
            store,
            keys: Mutex::new(Windows::new(usize::MAX)),
            strangers: Mutex::new(Windows::new(STRANGERS_MAX)),
            refused: Mutex::default(),
        }
    }

    /// Counts one request; when it is one too many, how long to wait.
    pub(crate) async fn hit(&self, who: Counted<'_>) -> Result<Option<Duration>, StoreError> {
        let Some(most) = who.most(self.per_minute) else { return Ok(None) };
        let name = who.name();
        if let Some(wait) = self.known_wait(&name) {
            return Ok(Some(wait));
        }
        match self.store.hit(&name, most, SPAN).await {
            Some(shared) => {
                let wait = shared?;
                if let Some(wait) = wait {
                    self.remember(name, wait);
                }
                Ok(wait)
            }
            None => {
                let windows = if who.is_strange() { &self.strangers } else { &self.keys };
                let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(windows.hit(name, most, Instant::now()))
            }
        }
    }

    /// A full window stays full until its oldest hit leaves it, so the refusal can be cached until then.
    fn known_wait(&self, name: &str) -> Option<Duration> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let until = *refused.get(name)?;
        let wait = until.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            refused.remove(name);
            return None;
        }
        Some(wait)
    }

    fn remember(&self, name: String, wait: Duration) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= REFUSED_MAX {
            refused.clear();
        }
        refused.insert(name, Instant::now() + wait);
    }

    /// Evicts expired windows.
    pub(crate) fn sweep(&self) {
        for windows in [&self.keys, &self.strangers] {
            windows.lock().unwrap_or_else(PoisonError::into_inner).sweep(Instant::now());
        }
    }
}

#[derive(Debug)]
struct Windows {
    hits: HashMap<String, VecDeque<Instant>>,
    callers_max: usize,
    swept_at: Option<Instant>,
}

impl Windows {
    fn new(callers_max: usize) -> Self {
        Self { hits: HashMap::new(), callers_max, swept_at: None }
    }

    fn hit(&mut self, who: String, most: u32, now: Instant) -> Option<Duration> {
        if self.hits.len() >= self.callers_max && !self.hits.contains_key(&who) {
            if self.swept_at.is_some_and(|at| now.duration_since(at) < Duration::from_secs(1)) {
                return Some(Duration::from_secs(1));
            }
            self.sweep(now);
            if self.hits.len() >= self.callers_max {
                return Some(Duration::from_secs(1));
            }
        }
        let hits = self.hits.entry(who).or_default();
        while hits.front().is_some_and(|hit| now.duration_since(*hit) >= SPAN) {
            hits.pop_front();
        }
        let is_full = hits.len() >= usize::try_from(most).unwrap_or(usize::MAX);
        if is_full {
            return hits.front().map(|oldest| SPAN.saturating_sub(now.duration_since(*oldest)));
        }
        hits.push_back(now);
        None
    }

    fn sweep(&mut self, now: Instant) {
        self.hits.retain(|_, hits| hits.back().is_some_and(|hit| now.duration_since(*hit) < SPAN));
        self.swept_at = Some(now);
    }
}

/// Rounded up, so that a retry after this time is accepted.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    let part = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(part).max(1)
}

/// How an address is counted: an IPv6 caller by its /64, since it owns all of it.
pub(crate) fn counted_address(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_slides() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut windows = Windows::new(10);
        let mut hit = |millis: u64| windows.hit("a".to_owned(), 3, at(millis)).map(|wait| wait.as_millis());
        assert_eq!([hit(0), hit(10_000), hit(59_000)], [None; 3]);
        assert_eq!(hit(59_999), Some(1));
        assert_eq!(hit(60_000), None, "the first has left the window; what was refused is not counted");
        assert_eq!(hit(60_001), Some(9_999));
    }

    #[test]
    fn passwords_are_guarded_also_where_calls_are_not_limited() {
        assert_eq!(Counted::Classify { key_id: "a" }.most(0), None);
        assert_eq!(Counted::PasswordByAddress("a").most(0), Some(PASSWORDS_BY_ADDRESS_MAX));
        assert_eq!(Counted::PasswordByAccount("a").most(600), Some(PASSWORDS_BY_ACCOUNT_MAX));
        assert_eq!(Counted::SignUp("a").most(0), Some(SIGN_UPS_MAX));
    }

    #[test]
    fn strangers_are_bounded() {
        let now = Instant::now();
        let mut windows = Windows::new(2);
        assert!(windows.hit("a".to_owned(), 1, now).is_none() && windows.hit("b".to_owned(), 1, now).is_none());
        assert!(windows.hit("c".to_owned(), 1, now).is_some(), "there is no room for a third");
        assert!(windows.hit("c".to_owned(), 1, now + SPAN).is_none(), "until the others have gone");
    }

    #[test]
    fn addresses_are_counted_by_who_owns_them() {
        let counted = |text: &str| counted_address(text.parse().unwrap());
        assert_eq!(counted("192.0.2.7"), "192.0.2.7");
        assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(counted("2001:db8:1:2:aaaa::1"), "2001:db8:1:2::/64");
        assert_eq!(counted("2001:db8:1:2:bbbb::1"), counted("2001:db8:1:2::"));
    }
}
