//! What the address of the table says: which rows, in which order, and from where on.

use serde::{Deserialize, Serialize};

use crate::app::{JobRowFilter, JobRowState, RowPlace};

pub(super) const STATES: [(&str, &str, Option<JobRowState>); 5] = [
    ("", "All", None),
    ("read", "Read by itself", Some(JobRowState::ReadByItself)),
    ("review", "For review", Some(JobRowState::ForReview)),
    ("decided", "Decided", Some(JobRowState::Decided)),
    ("failed", "Failed", Some(JobRowState::Failed)),
];
/// The other order than the oldest first.
const NEWEST: &str = "newest";

/// Every parameter of the table's address. What is empty is left out of links.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct RowsQuery {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) category: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) treatment: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) chain: String,
    /// The first and the last day.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) from: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) to: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) sort: String,
    /// Time, part and number of the last row of the page before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) after: String,
}

impl RowsQuery {
    pub(super) fn state(&self) -> Option<JobRowState> {
        STATES.iter().find(|(name, ..)| *name == self.state).and_then(|(.., state)| *state)
    }

    pub(super) fn is_newest_first(&self) -> bool {
        self.sort == NEWEST
    }

    /// A day that is none is no bound.
    pub(super) fn filter(&self) -> JobRowFilter {
        let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        JobRowFilter {
            state: self.state(),
            category: given(&self.category),
            treatment: given(&self.treatment),
            chain: given(&self.chain),
            from: self.from.trim().parse().ok(),
            to: self.to.trim().parse().ok(),
            is_newest_first: self.is_newest_first(),
            after: place(&self.after),
        }
    }

    /// The same rows in the other order, from the first on.
    pub(super) fn turned(&self) -> Self {
        let sort = if self.is_newest_first() { String::new() } else { NEWEST.to_owned() };
        Self { sort, after: String::new(), ..self.clone() }
    }

    pub(super) fn after(&self, last: RowPlace) -> Self {
        let RowPlace { time, part, at } = last;
        Self { after: format!("{time}:{part}:{at}"), ..self.clone() }
    }

    pub(super) fn text(&self) -> String {
        serde_urlencoded::to_string(self).unwrap_or_default()
    }

    pub(super) fn path(&self, job_id: &str) -> String {
        let text = self.text();
        let mark = if text.is_empty() { "" } else { "?" };
        format!("/jobs/{job_id}/rows{mark}{text}")
    }
}

/// What is no place of ours begins at the first row.
fn place(text: &str) -> Option<RowPlace> {
    let mut parts = text.splitn(3, ':');
    let (time, part) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(RowPlace { time, part, at: parts.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_all_of_it_and_comes_back() {
        let text = "state=decided&category=swap&chain=+base&from=2024-01-01&to=2024-02-30&sort=newest";
        let query: RowsQuery = serde_urlencoded::from_str(text).unwrap();
        let last = RowPlace { time: i64::MAX, part: 9, at: 99 };
        let next: RowsQuery = serde_urlencoded::from_str(&query.after(last).text()).unwrap();
        let filter = next.filter();
        assert_eq!((filter.after, filter.state), (Some(last), Some(JobRowState::Decided)));
        assert_eq!((filter.chain.as_deref(), filter.treatment), (Some("base"), None));
        assert_eq!((filter.from, filter.to), (Some(jiff::civil::date(2024, 1, 1)), None), "February has no such day");
        assert!(filter.is_newest_first && !next.turned().filter().is_newest_first);
        assert_eq!(next.turned().after, "");
        assert_eq!(RowsQuery::default().path("j"), "/jobs/j/rows");
        for odd in ["", "x", "1:2", "1:2:256", "1:2:3:4", "9999999999999999999999:1:1"] {
            assert_eq!(place(odd), None, "{odd}");
        }
    }
}
