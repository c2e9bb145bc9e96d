//! The rows of a job as a person looks at them: filtered, by the time of their transactions, a page at a time, each with what people decided on it. Rows are
//! found by their marks, so that only parts with a row on the page are unpacked.

use std::collections::{BTreeMap, BinaryHeap, HashSet};

use engine::Classification;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::marks::{Mark, Said, digest, is_failed, unpack_marks};
use super::packed::{unpack_lines, unpack_some};
use super::{JobStatus, PARTS_LOADED};
use crate::app::{App, DecisionDraft, KEYS_MAX};
use crate::error::ApiError;
use crate::history::read_row;
use crate::store::{BookRow, Decision, JobRow, PartTimes, ReadRow, RowKey};

/// Rows of one page.
const PAGE_ROWS: usize = 50;
/// Decided rows of a book whose keys are loaded at once.
const KEYS_LOADED: i64 = 10_000;

/// Where a row stands; each is in one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobRowState {
    /// Nobody needs to look, and nobody has decided.
    ReadByItself,
    ForReview,
    /// Somebody has decided, whether or not it is signed.
    Decided,
    Failed,
}

/// Which page of which rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobRowFilter {
    pub(crate) state: Option<JobRowState>,
    pub(crate) category: Option<String>,
    pub(crate) treatment: Option<String>,
    pub(crate) chain: Option<String>,
    /// The first and the last day, in the book's time zone. What has no time is in no period.
    pub(crate) from: Option<Date>,
    pub(crate) to: Option<Date>,
    pub(crate) is_newest_first: bool,
    /// The last row of the page before.
    pub(crate) after: Option<RowPlace>,
}

/// Where a row is among the rows of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowPlace {
    pub(crate) time: i64,
    pub(crate) part: i64,
    /// Its number within the part.
    pub(crate) at: u8,
}

/// One row of the page.
#[derive(Debug)]
pub(crate) struct JobPageRow {
    pub(crate) place: RowPlace,
    pub(crate) answer: JobRowAnswer,
    pub(crate) decision: Option<Decision>,
}

#[derive(Debug)]
pub(crate) enum JobRowAnswer {
    Read(Box<ReadRow>),
    Failed(FailedRow),
}

/// Why a row has no reading.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FailedRow {
    pub(crate) hash: Option<String>,
    pub(crate) chain: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) review_note: Option<String>,
}

/// A page of a job's rows.
#[derive(Debug)]
pub(crate) struct JobPage {
    pub(crate) job: JobStatus,
    /// Nothing only where a backup from before there were books was restored: then nothing can be decided.
    pub(crate) book: Option<BookRow>,
    pub(crate) rows: Vec<JobPageRow>,
    /// How many rows are like that, on all pages.
    pub(crate) count: usize,
    /// Where the next page begins.
    pub(crate) next: Option<RowPlace>,
}

impl App {
    pub(crate) async fn job_page(&self, owner_id: &str, id: &str, filter: &JobRowFilter) -> Result<JobPage, ApiError> {
        let (job, book) = self.job_and_book(owner_id, id).await?;
        let sieve = self.sieve(filter, book.as_ref()).await?;
        let found = self.found(&job.id, &sieve).await?;
        let has_more = found.first.len() > PAGE_ROWS;
        let mut places: Vec<RowPlace> = found.first.into_sorted_vec().into_iter().map(|ranked| ranked.place).collect();
        places.truncate(PAGE_ROWS);
        let next = places.last().copied().filter(|_| has_more);
        let answers = self.answers_at(&job.id, &places).await?;
        let rows = self.with_decisions(book.as_ref(), &places, answers).await?;
        Ok(JobPage { job: self.job_status(job).await?, book, rows, count: found.count, next })
    }

    /// Decides rows of a job by their part and number, also those that needed nobody; how many there were.
    pub(crate) async fn decide_job_rows(
        &self,
        owner_id: &str,
        id: &str,
        chosen: &[(i64, u8)],
        draft: &DecisionDraft,
    ) -> Result<u64, ApiError> {
        let (job, book) = self.job_and_book(owner_id, id).await?;
        let decision = self.decision(draft)?;
        let (book, rows) = self.chosen_rows(&job, book, chosen).await?;
        Ok(self.store.decide_read_rows(&book, &job.id, &rows, &decision, owner_id).await?)
    }

    /// How many decisions were taken back.
    pub(crate) async fn undo_job_rows(&self, owner_id: &str, id: &str, chosen: &[(i64, u8)]) -> Result<u64, ApiError> {
        let (job, book) = self.job_and_book(owner_id, id).await?;
        let (book, rows) = self.chosen_rows(&job, book, chosen).await?;
        let keys: Vec<RowKey> = rows.iter().map(ReadRow::key).collect();
        Ok(self.store.undo(&book, &keys, owner_id).await?)
    }

    async fn job_and_book(&self, owner_id: &str, id: &str) -> Result<(JobRow, Option<BookRow>), ApiError> {
        let job = self.owned_job(owner_id, id).await?;
        let book = match &job.book_id {
            Some(id) => self.store.own_book(owner_id, id).await?,
            None => None,
        };
        Ok((job, book))
    }

    /// What the chosen rows were read as.
    async fn chosen_rows(
        &self,
        job: &JobRow,
        book: Option<BookRow>,
        chosen: &[(i64, u8)],
    ) -> Result<(BookRow, Vec<ReadRow>), ApiError> {
        let book =
            book.ok_or_else(|| ApiError::invalid_request("this job is in no book, so nothing is decided on it"))?;
        if chosen.is_empty() {
            return Err(ApiError::invalid_request("choose at least one row"));
        }
        if chosen.len() > KEYS_MAX {
            return Err(ApiError::invalid_request("these are not rows of the table"));
        }
        let places: Vec<RowPlace> =
            chosen.iter().map(|(part, at)| RowPlace { time: 0, part: *part, at: *at }).collect();
        let answers = self.answers_at(&job.id, &places).await?;
        let mut rows = Vec::with_capacity(chosen.len());
        for (part, at) in chosen {
            match answers.get(&(*part, *at)) {
                Some(JobRowAnswer::Read(row)) => rows.push(ReadRow { part: *part, ..ReadRow::clone(row) }),
                Some(JobRowAnswer::Failed(_)) => {
                    return Err(ApiError::invalid_request("a row that was not read cannot be decided"));
                }
                None => return Err(ApiError::invalid_request("these are not rows of the table")),
            }
        }
        Ok((book, rows))
    }

    async fn sieve(&self, filter: &JobRowFilter, book: Option<&BookRow>) -> Result<Sieve, ApiError> {
        let zone = book.and_then(|book| TimeZone::get(&book.time_zone).ok()).unwrap_or(TimeZone::UTC);
        let midnight = |day: Date| day.to_zoned(zone.clone()).ok().map(|at| at.timestamp().as_second());
        let until = filter.to.map(|day| day.tomorrow().ok().and_then(midnight).unwrap_or(i64::MAX));
        let decided = match (filter.state, book) {
            (None | Some(JobRowState::Failed), _) | (_, None) => HashSet::new(),
            (Some(_), Some(book)) => self.decided(&book.id).await?,
        };
        Ok(Sieve { filter: filter.clone(), from: filter.from.and_then(midnight), until, decided })
    }

    /// The digests of all rows of a book that somebody has decided.
    async fn decided(&self, book_id: &str) -> Result<HashSet<u64>, ApiError> {
        let mut all = HashSet::new();
        let mut last: Option<RowKey> = None;
        loop {
            let keys = self.store.decided_keys(book_id, last.as_ref(), KEYS_LOADED).await?;
            all.extend(keys.iter().map(|key| digest(&key.hash, &key.wallet)));
            match keys.into_iter().last() {
                Some(key) => last = Some(key),
                None => return Ok(all),
            }
        }
    }

    /// Looks at the marks of all rows; of a million, the page's own are held.
    async fn found(&self, job_id: &str, sieve: &Sieve) -> Result<Found, ApiError> {
        let mut found = Found { first: BinaryHeap::new(), count: 0 };
        let mut first = 0_i64;
        loop {
            let parts = self.store.part_times(job_id, first, PARTS_LOADED).await?;
            let Some(last) = parts.last() else { return Ok(found) };
            first = last.number.saturating_add(1);
            for part in &parts {
                let marks = self.marks(job_id, part, sieve).await?;
                for (mark, at) in marks.iter().zip(0..=u8::MAX).filter(|(mark, _)| sieve.takes(mark)) {
                    found.add(RowPlace { time: mark.time, part: part.number, at }, &sieve.filter);
                }
            }
        }
    }

    /// Rows that an earlier version read have no marks: their answers tell, where more than their times is asked.
    async fn marks(&self, job_id: &str, part: &PartTimes, sieve: &Sieve) -> Result<Vec<Mark>, ApiError> {
        let mut marks = part.times.as_deref().map(unpack_marks).unwrap_or_default();
        let is_known = marks.iter().all(|mark| mark.said.is_some() || !mark.is_read());
        if is_known || !sieve.needs_said() {
            return Ok(marks);
        }
        let Some(answers) = self.store.part_answers(job_id, part.number).await? else { return Ok(marks) };
        let said = blocking(move || {
            let lines = unpack_lines(&answers).unwrap_or_default();
            lines.iter().map(|line| Said::of_json(line)).collect::<Vec<_>>()
        });
        for (mark, said) in marks.iter_mut().zip(said.await?) {
            mark.said = mark.said.take().or(said);
        }
        Ok(marks)
    }

    /// What is in these places, by part and number.
    async fn answers_at(
        &self,
        job_id: &str,
        places: &[RowPlace],
    ) -> Result<BTreeMap<(i64, u8), JobRowAnswer>, ApiError> {
        let mut wanted: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
        for place in places {
            wanted.entry(place.part).or_default().push(place.at);
        }
        let mut all = BTreeMap::new();
        for (part, numbers) in wanted {
            let Some(packed) = self.store.part_answers(job_id, part).await? else { continue };
            let lines = blocking(move || {
                let lines = unpack_some(&packed, &numbers)?;
                Ok::<_, std::io::Error>(lines.into_iter().map(|(at, line)| (at, answer(&line))).collect::<Vec<_>>())
            });
            let lines = lines.await?.map_err(|error| {
                tracing::error!(%error, "a part of a job cannot be unpacked");
                ApiError::Internal
            })?;
            all.extend(lines.into_iter().filter_map(|(at, answer)| Some(((part, at), answer?))));
        }
        Ok(all)
    }

    async fn with_decisions(
        &self,
        book: Option<&BookRow>,
        places: &[RowPlace],
        mut answers: BTreeMap<(i64, u8), JobRowAnswer>,
    ) -> Result<Vec<JobPageRow>, ApiError> {
        let keys: Vec<RowKey> = answers
            .values()
            .filter_map(|answer| match answer {
                JobRowAnswer::Read(row) => Some(row.key()),
                JobRowAnswer::Failed(_) => None,
            })
            .collect();
        let decisions = match book {
            Some(book) => self.store.decisions(&book.id, &keys).await?,
            None => Vec::new(),
        };
        let row = |place: &RowPlace| {
            let answer = answers.remove(&(place.part, place.at))?;
            let decision = match &answer {
                JobRowAnswer::Read(row) => {
                    decisions.iter().find(|found| found.hash == row.hash && found.wallet == row.wallet).cloned()
                }
                JobRowAnswer::Failed(_) => None,
            };
            Some(JobPageRow { place: *place, answer, decision })
        };
        Ok(places.iter().filter_map(row).collect())
    }
}

/// Unpacking takes long enough to hold up whoever else is served by the thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::Internal)
}

/// Nothing where the row is not read yet.
fn answer(line: &str) -> Option<JobRowAnswer> {
    if line.is_empty() {
        return None;
    }
    match serde_json::from_str::<Classification>(line) {
        Ok(row) => Some(JobRowAnswer::Read(Box::new(read_row(&row)))),
        Err(_) => Some(JobRowAnswer::Failed(serde_json::from_str(line).unwrap_or_default())),
    }
}

/// The filter, with everything that a mark is compared to.
struct Sieve {
    filter: JobRowFilter,
    /// Seconds since 1970, of which the second is not in the period any more.
    from: Option<i64>,
    until: Option<i64>,
    decided: HashSet<u64>,
}

impl Sieve {
    /// Whether times alone do not tell.
    fn needs_said(&self) -> bool {
        let JobRowFilter { category, treatment, chain, .. } = &self.filter;
        let is_said = [category, treatment, chain].into_iter().any(Option::is_some);
        is_said || !matches!(self.filter.state, None | Some(JobRowState::Failed))
    }

    fn takes(&self, mark: &Mark) -> bool {
        mark.is_read() && self.is_in_period(mark) && self.has_words(mark) && self.is_in_state(mark)
    }

    fn is_in_period(&self, mark: &Mark) -> bool {
        if self.from.is_none() && self.until.is_none() {
            return true;
        }
        let has_time = mark.time != 0 && !mark.is_failed();
        has_time && self.from.is_none_or(|from| mark.time >= from) && self.until.is_none_or(|until| mark.time < until)
    }

    fn has_words(&self, mark: &Mark) -> bool {
        let JobRowFilter { category, treatment, chain, .. } = &self.filter;
        let is_said = |wanted: &Option<String>, word: fn(&Said) -> &str| {
            wanted.as_deref().is_none_or(|wanted| mark.said.as_ref().is_some_and(|said| word(said) == wanted))
        };
        is_said(category, |said| &said.category)
            && is_said(treatment, |said| &said.treatment)
            && is_said(chain, |said| &said.chain)
    }

    fn is_in_state(&self, mark: &Mark) -> bool {
        let Some(state) = self.filter.state else { return true };
        if mark.is_failed() || state == JobRowState::Failed {
            return mark.is_failed() && state == JobRowState::Failed;
        }
        let Some(said) = &mark.said else { return false };
        let is_decided = self.decided.contains(&said.key);
        match state {
            JobRowState::ReadByItself => !is_decided && !said.needs_review,
            JobRowState::ForReview => !is_decided && said.needs_review,
            JobRowState::Decided => is_decided,
            JobRowState::Failed => false,
        }
    }
}

/// The first rows behind the page before, one more than a page has, and how many there are on all pages.
struct Found {
    first: BinaryHeap<Ranked>,
    count: usize,
}

/// Rows in the order of the page. What failed has no time, and comes last in either order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    rank: (bool, i64, i64, i64),
    place: RowPlace,
}

impl Ranked {
    fn new(place: RowPlace, is_newest_first: bool) -> Self {
        let RowPlace { time, part, at } = place;
        let turned = |number: i64| if is_newest_first { number.saturating_neg() } else { number };
        Self { rank: (is_failed(time), turned(time), turned(part), turned(i64::from(at))), place }
    }
}

impl Found {
    fn add(&mut self, place: RowPlace, filter: &JobRowFilter) {
        self.count = self.count.saturating_add(1);
        let ranked = Ranked::new(place, filter.is_newest_first);
        let is_behind = |after: RowPlace| ranked > Ranked::new(after, filter.is_newest_first);
        if !filter.after.is_none_or(is_behind) {
            return;
        }
        self.first.push(ranked);
        if self.first.len() > PAGE_ROWS.saturating_add(1) {
            self.first.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(time: i64, category: &str, needs_review: bool, key: u64) -> Mark {
        let said =
            Said { category: category.into(), treatment: "income".into(), chain: "base".into(), needs_review, key };
        Mark { time, said: Some(said) }
    }

    fn sieve(filter: JobRowFilter) -> Sieve {
        Sieve { filter, from: None, until: None, decided: HashSet::from([7]) }
    }

    #[test]
    fn each_row_is_in_one_state() {
        let failed = Mark::failed(mark(0, "", false, 3).said);
        let rows =
            [mark(1, "swap", false, 1), mark(2, "gift", true, 2), mark(3, "swap", true, 7), failed, Mark::unread()];
        let states = [JobRowState::ReadByItself, JobRowState::ForReview, JobRowState::Decided, JobRowState::Failed];
        for (at, state) in states.into_iter().enumerate() {
            let sieve = sieve(JobRowFilter { state: Some(state), ..JobRowFilter::default() });
            let taken: Vec<usize> = (0..rows.len()).filter(|row| sieve.takes(&rows[*row])).collect();
            assert_eq!(taken, [at], "{state:?}");
        }
        let all = sieve(JobRowFilter::default());
        assert_eq!(rows.iter().filter(|row| all.takes(row)).count(), 4);
        let unknown = Mark { time: 5, said: None };
        assert!(
            all.takes(&unknown)
                && !sieve(JobRowFilter { chain: Some("base".to_owned()), ..JobRowFilter::default() }).takes(&unknown)
        );
        let base = sieve(JobRowFilter { chain: Some("base".to_owned()), ..JobRowFilter::default() });
        assert_eq!(rows.iter().filter(|row| base.takes(row)).count(), 4, "what failed may have a chain");
        let swaps = sieve(JobRowFilter { category: Some("swap".to_owned()), ..JobRowFilter::default() });
        assert_eq!(rows.iter().filter(|row| swaps.takes(row)).count(), 2);
    }

    #[test]
    fn a_period_has_no_rows_without_a_time() {
        let period = Sieve { from: Some(10), until: Some(20), ..sieve(JobRowFilter::default()) };
        let taken = [0, 9, 10, 19, 20].map(|time| period.takes(&mark(time, "swap", false, 1)));
        assert_eq!(taken, [false, false, true, true, false]);
        let open = Sieve { until: Some(20), ..sieve(JobRowFilter::default()) };
        assert!(!open.takes(&mark(0, "swap", false, 1)) && !open.takes(&Mark::failed(None)));
    }

    #[test]
    fn pages_hold_every_row_once_in_either_order() {
        let failed = Mark::failed(None).time;
        let places: Vec<RowPlace> = (0..230_i64)
            .map(|n| RowPlace {
                time: if n % 50 == 0 { failed } else { n * 7_919 % 31 },
                part: n / 100,
                at: u8::try_from(n % 100).unwrap(),
            })
            .collect();
        for is_newest_first in [false, true] {
            let mut filter = JobRowFilter { is_newest_first, ..JobRowFilter::default() };
            let mut seen: Vec<RowPlace> = Vec::new();
            for _ in 0..6 {
                let mut found = Found { first: BinaryHeap::new(), count: 0 };
                places.iter().for_each(|place| found.add(*place, &filter));
                assert_eq!(found.count, 230);
                let page: Vec<RowPlace> =
                    found.first.into_sorted_vec().into_iter().map(|ranked| ranked.place).take(PAGE_ROWS).collect();
                filter.after = page.last().copied().or(filter.after);
                seen.extend(page);
            }
            assert_eq!(seen.len(), 230);
            assert!(seen[225..].iter().all(|place| place.time == failed), "what failed comes last");
            let read: Vec<i64> = seen[..225].iter().map(|place| place.time).collect();
            assert!(if is_newest_first { read.is_sorted_by(|a, b| a >= b) } else { read.is_sorted() });
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 230, "each once");
        }
    }
}
