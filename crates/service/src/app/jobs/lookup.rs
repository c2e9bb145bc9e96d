//! A job that begins with wallets: what they did is looked up first. Taking it in only checks that it can be.

use std::collections::BTreeSet;
use std::sync::Arc;

use chains::Period;
use engine::{Account, Chain};
use serde::{Deserialize, Serialize};

use super::intake::{name, new_job, options, too_many};
use super::{JobStatus, UNFINISHED_MAX};
use crate::app::request::address;
use crate::app::wallets::{SearchError, Searches, day, period, searches};
use crate::app::{AdmittedCall, App, Reader};
use crate::error::ApiError;

/// Wallets of one job. Each is asked for on every chain that lists accounts, in several lists, at a few pages a second.
pub(crate) const WALLETS_MAX: usize = 100;

/// What the caller wants to be looked up, and how it is to be read.
#[derive(Debug, Default)]
pub(crate) struct WalletsRequest {
    /// The id of a book of the owner; the first, when absent.
    pub(crate) book: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) wallets: Vec<String>,
    /// Whether the wallets of the book are looked up too.
    pub(crate) has_book_wallets: bool,
    /// All that can be looked on, when absent.
    pub(crate) chain: Option<String>,
    /// Days, both counted in.
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) own_wallets: Vec<String>,
    pub(crate) policy: Vec<(String, String)>,
    /// Whether it is read only when its owner has seen what was found, and starts it.
    pub(crate) waits: bool,
}

/// What is looked up, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Lookup {
    wallets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
}

impl Lookup {
    /// By what this instance serves, which may have changed since the job was brought.
    pub(super) fn searches(&self, reader: &Reader) -> Result<(Searches, Period), ApiError> {
        let wallets: Vec<Account> =
            self.wallets.iter().map(|wallet| address(wallet, "wallets")).collect::<Result<_, _>>()?;
        let chain = self.chain.as_deref().map(|name| reader.served(name)).transpose()?;
        let chain: Option<&Chain> = chain.as_deref();
        let date = |text: &Option<String>, field: &str| {
            let refused = |why: String| ApiError::invalid_request(format!("`{field}`: {why}"));
            text.as_deref().map(|text| day(text).map_err(refused)).transpose()
        };
        let refused = |error: SearchError| ApiError::invalid_request(error.to_string());
        let period = period(date(&self.from, "from")?, date(&self.to, "to")?).map_err(refused)?;
        let searches = searches(reader, &wallets, chain).map_err(refused)?;
        Ok((searches, period))
    }
}

impl App {
    /// Makes a job of wallets. What cannot be looked up is refused, and leaves no job.
    pub(crate) async fn take_wallets(
        self: &Arc<Self>,
        call: &AdmittedCall,
        request: WalletsRequest,
    ) -> Result<JobStatus, ApiError> {
        let caller = call.caller();
        let book = self.book_of_job(&caller.payer.id, request.book.as_deref()).await?;
        let of_book = self.book_wallets(&book).await?;
        let mut wallets = BTreeSet::new();
        let count = request.wallets.len();
        for (at, wallet) in request.wallets.iter().take(WALLETS_MAX).enumerate() {
            wallets.insert(address(wallet, &format!("wallets[{at}]"))?.to_string());
        }
        if request.has_book_wallets {
            wallets.extend(of_book.iter().map(|wallet| wallet.address.clone()));
        }
        if wallets.is_empty() || wallets.len().max(count) > WALLETS_MAX {
            return Err(ApiError::invalid_request(format!("1 to {WALLETS_MAX} wallets are looked up at a time")));
        }
        let mut options = options(&request.own_wallets, &request.policy, &book, &of_book)?;
        // What moves between wallets of one person is no sale. One alone needs no telling.
        let own: BTreeSet<String> = options.own_wallets.into_iter().chain(wallets.iter().cloned()).collect();
        options.own_wallets = if own.len() > 1 { own.into_iter().collect() } else { Vec::new() };
        let else_called = match wallets.first() {
            Some(wallet) if wallets.len() == 1 => wallet.clone(),
            _ => format!("{} wallets", wallets.len()),
        };
        let lookup =
            Lookup { wallets: wallets.into_iter().collect(), chain: request.chain, from: request.from, to: request.to };
        lookup.searches(&self.reader)?;
        options.lookup = Some(lookup);
        let named = name(request.name.as_deref(), &else_called);
        let job = new_job(caller, book, named, &options, request.waits)?;
        if !self.store.begin_listing(&job, UNFINISHED_MAX).await? {
            return Err(too_many());
        }
        self.jobs.bell.notify_waiters();
        self.job(&job.owner_id, &job.id).await
    }
}
