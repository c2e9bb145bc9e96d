//! A table comes in: first into a file, then row by row into the parts of a new job. It is a job only when all of it is there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::sync::Arc;

use books::asked::{self, Asked, FILE_BYTES_MAX, Hints, TableError, Understood};
use engine::Account;
use engine::question::OWN_WALLETS_MAX;
use futures_util::{Stream, StreamExt as _};
use rand::distr::{Alphanumeric, SampleString as _};
use tokio::sync::mpsc;

use super::packed::{AskedRow, pack_asked};
use super::places::Place;
use super::{JobOptions, JobStatus, UNFINISHED_MAX};
use crate::app::book::policy_of;
use crate::app::request::address;
use crate::app::{AdmittedCall, App, BATCH_ITEMS_MAX, Reader, explorer_hosts};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::store::{BookRow, BookWallet, NewJob, NewPart};

const ID_CHARS: usize = 24;
const NAME_CHARS_MAX: usize = 200;
/// Parts that wait to be written, and parts of one write.
const PARTS_WAITING_MAX: usize = 32;

/// What the caller says of a table and of how it is to be read.
#[derive(Debug, Default)]
pub(crate) struct JobRequest {
    /// The id of a book of the owner; the first, when absent.
    pub(crate) book: Option<String>,
    pub(crate) name: Option<String>,
    /// The column that holds the hashes.
    pub(crate) column: Option<String>,
    /// For rows that name no chain, or one that is not known.
    pub(crate) chain: Option<String>,
    /// For rows that name no wallet.
    pub(crate) wallet: Option<String>,
    pub(crate) own_wallets: Vec<String>,
    pub(crate) policy: Vec<(String, String)>,
    /// Whether it is read only when its owner has seen how it was understood, and starts it.
    pub(crate) waits: bool,
}

/// A table that came in whole, and its place among those that come in.
#[derive(Debug)]
pub(crate) struct Upload {
    file: File,
    _place: Place,
}

impl App {
    /// Keeps a body in a file. A body that breaks off or is too long leaves nothing behind.
    pub(crate) async fn take_upload<B, E>(
        &self,
        owner_id: &str,
        mut body: impl Stream<Item = Result<B, E>> + Unpin,
    ) -> Result<Upload, ApiError>
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let unkept = |error: std::io::Error| {
            tracing::error!(%error, "a table could not be kept while it came in");
            ApiError::Internal
        };
        let place = self.jobs.uploads.take(owner_id)?;
        let mut file = tempfile::tempfile_in(&self.jobs.folder).map_err(unkept)?;
        let mut length = 0_u64;
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|_| ApiError::invalid_request("the body broke off, or took too long"))?;
            length = length.saturating_add(u64::try_from(piece.as_ref().len()).unwrap_or(u64::MAX));
            if length > FILE_BYTES_MAX {
                return Err(ApiError::invalid_request(TableError::TooLong.to_string()));
            }
            file = blocking(move || file.write_all(piece.as_ref()).map(|()| file)).await?.map_err(unkept)?;
        }
        file.rewind().map_err(unkept)?;
        Ok(Upload { file, _place: place })
    }

    /// Makes a job of a table. What cannot be understood at all is refused with row and column, and leaves no job.
    pub(crate) async fn take_job(
        self: &Arc<Self>,
        call: &AdmittedCall,
        request: JobRequest,
        upload: Upload,
    ) -> Result<JobStatus, ApiError> {
        let caller = call.caller();
        let book = self.book_of_job(&caller.payer.id, request.book.as_deref()).await?;
        let options = options(&request.own_wallets, &request.policy, &book, &self.book_wallets(&book).await?)?;
        let named = name(request.name.as_deref(), "table");
        let job = new_job(caller, book, named, &options, request.waits)?;
        let table = Table::new(&self.reader, &request)?;
        if !self.store.begin_job(&job, UNFINISHED_MAX).await? {
            return Err(too_many());
        }
        let (app, id) = (Arc::clone(self), job.id.clone());
        // Goes on when the caller hangs up: what was begun ends whole, or is taken back.
        let taken = self.finish(call.request_id(), async move {
            let taken = app.fill(&id, table, upload).await;
            if taken.is_err() {
                app.store.drop_job(&id).await?;
            }
            taken
        });
        taken.await?;
        self.jobs.bell.notify_waiters();
        self.job(&job.owner_id, &job.id).await
    }

    async fn fill(&self, id: &str, table: Table, upload: Upload) -> Result<(), ApiError> {
        let (send, mut parts) = mpsc::channel::<NewPart>(PARTS_WAITING_MAX);
        let reading = tokio::task::spawn_blocking(move || table.read(upload, &send));
        let mut waiting = Vec::with_capacity(PARTS_WAITING_MAX);
        let mut number = 0_i64;
        while parts.recv_many(&mut waiting, PARTS_WAITING_MAX).await > 0 {
            self.store.add_parts(id, number, &waiting).await?;
            number = number.saturating_add(i64::try_from(waiting.len()).unwrap_or(i64::MAX));
            waiting.clear();
        }
        let understood = reading.await.map_err(|_| ApiError::Internal)?.map_err(|error| match error {
            TableError::Unreadable(_) | TableError::NotTaken => ApiError::Internal,
            told => ApiError::invalid_request(told.to_string()),
        })?;
        let told = serde_json::to_string(&understood).map_err(|_| ApiError::Internal)?;
        let count = i64::try_from(understood.count).unwrap_or(i64::MAX);
        if count == 0 {
            return Err(ApiError::invalid_request("no row of the table names a transaction"));
        }
        if self.store.open_job(id, &told, count).await? { Ok(()) } else { Err(ApiError::Unauthorized) }
    }
}

/// Work that would hold up other calls.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::Internal)
}

/// What is needed to read a table away from the service.
struct Table {
    column: Option<String>,
    wallet: Option<Account>,
    chain: Option<String>,
    explorers: Vec<(String, String)>,
    reader: Arc<Reader>,
}

impl Table {
    fn new(reader: &Arc<Reader>, request: &JobRequest) -> Result<Self, ApiError> {
        let chain = request.chain.as_deref().map(|name| reader.served(name)).transpose()?;
        let wallet = request.wallet.as_deref().map(|wallet| address(wallet, "wallet")).transpose()?;
        Ok(Self {
            column: request.column.clone(),
            wallet,
            chain: chain.map(|chain| chain.slug.clone()),
            explorers: explorer_hosts(&reader.registry),
            reader: Arc::clone(reader),
        })
    }

    fn read(&self, upload: Upload, send: &mpsc::Sender<NewPart>) -> Result<Understood, TableError> {
        let hints = Hints {
            column: self.column.as_deref(),
            wallet: self.wallet,
            explorers: &self.explorers,
            ..Hints::default()
        };
        let mut rows: Vec<AskedRow> = Vec::with_capacity(BATCH_ITEMS_MAX);
        let hand_on = |rows: &mut Vec<AskedRow>| {
            let row_count = i64::try_from(rows.len()).unwrap_or_default();
            let asked = pack_asked(rows).ok();
            rows.clear();
            asked.is_some_and(|asked| send.blocking_send(NewPart { row_count, asked }).is_ok())
        };
        let understood = asked::understand(upload.file, &hints, &mut |row| {
            rows.push(self.asked(row));
            rows.len() < BATCH_ITEMS_MAX || hand_on(&mut rows)
        })?;
        if rows.is_empty() || hand_on(&mut rows) { Ok(understood) } else { Err(TableError::NotTaken) }
    }

    /// What a tool calls a chain may be a name of its own: then the transaction is looked for as if the row named none.
    fn asked(&self, row: Asked) -> AskedRow {
        let named = row.chain.as_deref().and_then(|name| self.reader.served(name).ok()).map(|chain| chain.slug.clone());
        AskedRow {
            hash: row.hash.to_string(),
            chain: named.or_else(|| self.chain.clone()),
            wallet: row.wallet.map(|wallet| wallet.to_string()),
        }
    }
}

/// The book's wallets and policy, with what the job adds to the one and says otherwise than the other.
pub(super) fn options(
    more_wallets: &[String],
    policy: &[(String, String)],
    book: &BookRow,
    wallets: &[BookWallet],
) -> Result<JobOptions, ApiError> {
    let mut own_wallets: BTreeSet<String> = wallets.iter().map(|wallet| wallet.address.clone()).collect();
    if more_wallets.len() <= OWN_WALLETS_MAX {
        for wallet in more_wallets {
            own_wallets.insert(address(wallet, "own_wallets")?.to_string());
        }
    }
    if own_wallets.len().max(more_wallets.len()) > OWN_WALLETS_MAX {
        return Err(ApiError::invalid_request(format!(
            "`own_wallets` takes at most {OWN_WALLETS_MAX} addresses, those of the book included"
        )));
    }
    let policy = policy_of(book).into_iter().chain(policy.iter().cloned()).collect();
    Ok(JobOptions { policy, own_wallets: own_wallets.into_iter().collect(), lookup: None })
}

pub(super) fn new_job(
    caller: &Caller,
    book: BookRow,
    name: String,
    options: &JobOptions,
    waits: bool,
) -> Result<NewJob, ApiError> {
    Ok(NewJob {
        id: format!("job_{}", Alphanumeric.sample_string(&mut rand::rng(), ID_CHARS)),
        owner_id: caller.payer.id.clone(),
        key_id: caller.key_id.clone(),
        book_id: book.id,
        name,
        options: serde_json::to_string(options).map_err(|_| ApiError::Internal)?,
        starts: !waits,
    })
}

pub(super) fn too_many() -> ApiError {
    ApiError::invalid_request(format!("{UNFINISHED_MAX} jobs are not finished yet: wait for one, or cancel it"))
}

/// One line for people.
pub(super) fn name(given: Option<&str>, else_called: &str) -> String {
    let name: String = given.unwrap_or_default().chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    let name = name.trim();
    if name.is_empty() { else_called.to_owned() } else { name.to_owned() }
}
