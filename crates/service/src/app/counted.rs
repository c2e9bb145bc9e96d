//! Classification that counts against quota. Quota is reserved per hash before the work, in input order; free and failed items release
//! their reservation to the next waiting item; and no answer is sent before its ledger row is on disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Classification, TxHash};

use super::App;
use super::door::AdmittedCall;
use super::reader::{Answer, Sought};
use crate::error::ApiError;
use crate::store::{Grant, Posted, SettleOutcome, Settled, Turn, Turned};

/// One answer per item, in input order; `quota_exceeded` for the whole call when every item would be refused.
pub(super) async fn read(
    app: &App,
    call: &AdmittedCall,
    items: Vec<Result<Sought, ApiError>>,
) -> Result<Vec<Answer>, ApiError> {
    let item_count = items.len();
    let mut answers: Vec<Option<Answer>> = Vec::with_capacity(item_count);
    let mut groups: Vec<HashGroup> = Vec::new();
    let mut known: BTreeMap<TxHash, usize> = BTreeMap::new();
    for (at, item) in items.into_iter().enumerate() {
        let sought = match item {
            Ok(sought) => sought,
            // Its chain is not served, so nothing is reserved for it.
            Err(error) => {
                answers.push(Some(Err(error)));
                continue;
            }
        };
        answers.push(None);
        let hash = sought.item.hash;
        let group = *known.entry(hash).or_insert_with(|| {
            groups.push(HashGroup { hash, items: Vec::new(), answers: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(group) {
            group.items.push((at, sought));
        }
    }
    for (at, answer) in QuotaCall::new(app, call).serve(groups, item_count).await? {
        if let Some(slot) = answers.get_mut(at) {
            *slot = Some(answer);
        }
    }
    Ok(answers.into_iter().map(|answer| answer.unwrap_or(Err(ApiError::Internal))).collect())
}

/// Reads a hash again that was classified before in this period; any other hash is not read and costs nothing.
pub(super) async fn again(
    app: &App,
    call: &AdmittedCall,
    sought: Sought,
) -> Result<Option<Arc<Classification>>, ApiError> {
    let mut quota = QuotaCall::new(app, call);
    let mut group = HashGroup { hash: sought.item.hash, items: vec![(0, sought)], answers: Vec::new() };
    let first = quota.turn(&[], std::slice::from_ref(&group)).await?;
    match first.granted.first() {
        Some(Grant::Repeat) => {
            quota.read(std::iter::once(&mut group)).await;
            group.answers.pop().unwrap_or(Err(ApiError::Internal)).map(Some)
        }
        Some(Grant::Held) => {
            // Nothing was read: the reservation is released at once.
            quota.turn(&[&group], &[]).await?;
            Ok(None)
        }
        Some(Grant::Refused) | None => Ok(None),
    }
}

/// The items of one call that name the same hash: they share one reservation.
struct HashGroup {
    hash: TxHash,
    items: Vec<(usize, Sought)>,
    /// Empty until it was read.
    answers: Vec<Answer>,
}

impl HashGroup {
    /// Billable if any of its readings is: the hash counts once, whatever wallets it was read for.
    fn settled(&self) -> Settled {
        let read = || self.answers.iter().filter_map(|answer| answer.as_deref().ok());
        let best = read().find(|row| is_billable(row)).or_else(|| read().next());
        let outcome = match best {
            Some(row) if is_billable(row) => SettleOutcome::Billable,
            Some(_) => SettleOutcome::Free,
            None => SettleOutcome::Void,
        };
        Settled {
            hash: self.hash.to_string(),
            outcome,
            category: best.map_or_else(String::new, |row| row.category.name().to_owned()),
            chain: best.and_then(|row| row.chain.clone()).unwrap_or_default(),
        }
    }

    fn into_answers(self) -> impl Iterator<Item = (usize, Answer)> {
        self.items.into_iter().map(|(at, _)| at).zip(self.answers)
    }

    fn refused(self) -> impl Iterator<Item = (usize, Answer)> {
        self.items.into_iter().map(|(at, _)| (at, Err(ApiError::QuotaExceeded)))
    }
}

/// A row that the engine flags for review counts whatever its category, since it took the same work. A confidence floor of the caller
/// changes no price: an approval is free on every interface.
fn is_billable(row: &Classification) -> bool {
    (row.needs_review && !row.is_floored) || !row.category.is_free()
}

/// What one call reserves and settles at the ledger.
struct QuotaCall<'a> {
    app: &'a App,
    call: &'a AdmittedCall,
    call_id: String,
    period: Option<String>,
}

impl<'a> QuotaCall<'a> {
    fn new(app: &'a App, call: &'a AdmittedCall) -> Self {
        Self { app, call, call_id: format!("{:032x}", rand::random::<u128>()), period: None }
    }

    /// Two ledger transactions, one before the work and one after; a third only where released reservations went to waiting items.
    async fn serve(&mut self, groups: Vec<HashGroup>, item_count: usize) -> Result<Vec<(usize, Answer)>, ApiError> {
        let mut done = Vec::with_capacity(item_count);
        if groups.is_empty() {
            return Ok(done);
        }
        let first = self.reserve(&groups).await?;
        let (mut granted, waiting) = split(groups, &first);
        let refused: usize = waiting.iter().map(|group| group.items.len()).sum();
        if refused == item_count {
            return Err(ApiError::QuotaExceeded);
        }
        self.read(granted.iter_mut().map(|(group, _)| group)).await;
        let second = self.settle(&granted, &waiting).await?;
        post(granted, &second, &mut done);
        let (mut granted, mut waiting) = split(waiting, &second);
        if !granted.is_empty() {
            // All waiting groups are read at once and settled in order, so that passing reservations on needs no further transaction.
            self.read(granted.iter_mut().map(|(group, _)| group).chain(&mut waiting)).await;
            granted.extend(waiting.drain(..).map(|group| (group, Grant::Held)));
            let third = self.settle(&granted, &[]).await?;
            post(granted, &third, &mut done);
        }
        done.extend(waiting.into_iter().flat_map(HashGroup::refused));
        Ok(done)
    }

    /// Settles the reserved groups and requests reservations for the waiting ones. Repeats hold no reservation: where nothing else was
    /// read, none is released and the ledger is not asked.
    async fn settle(&mut self, read: &[(HashGroup, Grant)], waiting: &[HashGroup]) -> Result<Turned, ApiError> {
        let held = read.iter().filter(|(_, grant)| *grant == Grant::Held);
        let settled: Vec<&HashGroup> = held.map(|(group, _)| group).collect();
        if settled.is_empty() {
            let period = self.period.clone().unwrap_or_default();
            return Ok(Turned { period, posted: Vec::new(), granted: vec![Grant::Refused; waiting.len()] });
        }
        self.turn(&settled, waiting).await
    }

    /// Known repeats need no ledger transaction.
    async fn reserve(&mut self, groups: &[HashGroup]) -> Result<Turned, ApiError> {
        let payer = &self.call.caller().payer;
        match self.app.repeats.all_known(payer, groups.iter().map(|group| &group.hash)) {
            Some(period) => Ok(Turned { period, posted: Vec::new(), granted: vec![Grant::Repeat; groups.len()] }),
            None => self.turn(&[], groups).await,
        }
    }

    async fn turn(&mut self, settled: &[&HashGroup], wanted: &[HashGroup]) -> Result<Turned, ApiError> {
        let turn = Turn {
            payer: self.call.caller().payer.clone(),
            period: self.period.clone(),
            call_id: self.call_id.clone(),
            key_id: self.call.caller().key_id.clone(),
            request_id: self.call.request_id().text().to_owned(),
            has_sink: self.app.has_sink,
            settled: settled.iter().map(|group| group.settled()).collect(),
            wanted: wanted.iter().map(|group| group.hash.to_string()).collect(),
        };
        let turned = self.app.store.turn(turn).await?;
        self.period = Some(turned.period.clone());
        let repeats = wanted.iter().zip(&turned.granted).filter(|(_, grant)| **grant == Grant::Repeat);
        let is_entered = |posted: &Posted| matches!(posted, Posted::Billed | Posted::Free | Posted::Repeat);
        let entered = settled.iter().zip(&turned.posted).filter(|(_, posted)| is_entered(posted));
        let hashes = repeats.map(|(group, _)| group.hash).chain(entered.map(|(group, _)| group.hash));
        self.app.repeats.learn(&self.call.caller().payer, &turned.period, hashes);
        Ok(turned)
    }

    /// Reads the groups that were not read yet, all at once.
    async fn read<'g>(&self, groups: impl Iterator<Item = &'g mut HashGroup>) {
        let mut unread: Vec<&mut HashGroup> = groups.filter(|group| group.answers.is_empty()).collect();
        let items = unread.iter().flat_map(|group| group.items.iter().map(|(_, sought)| sought.clone())).collect();
        let mut answers = self.app.read_rows(items, self.call.is_job()).await.into_iter();
        for group in &mut unread {
            let count = group.items.len();
            group.answers = answers.by_ref().take(count).collect();
        }
    }
}

/// Hands out the answers, except those whose settlement was refused.
fn post(granted: Vec<(HashGroup, Grant)>, turned: &Turned, done: &mut Vec<(usize, Answer)>) {
    let mut posted = turned.posted.iter();
    for (group, grant) in granted {
        match grant {
            Grant::Held if posted.next() == Some(&Posted::Refused) => done.extend(group.refused()),
            Grant::Held | Grant::Repeat | Grant::Refused => done.extend(group.into_answers()),
        }
    }
}

/// The groups that may be read now, and those that wait.
fn split(groups: Vec<HashGroup>, turned: &Turned) -> (Vec<(HashGroup, Grant)>, Vec<HashGroup>) {
    let mut granted = Vec::new();
    let mut waiting = Vec::new();
    for (group, grant) in groups.into_iter().zip(&turned.granted) {
        match grant {
            Grant::Held | Grant::Repeat => granted.push((group, *grant)),
            Grant::Refused => waiting.push(group),
        }
    }
    (granted, waiting)
}
