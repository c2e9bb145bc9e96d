//! What the address of the table says: which rows, in which order, and from where on.

use serde::{Deserialize, Serialize};

use crate::store::{ReviewCursor, ReviewFilter, ReviewSort, ReviewState};

pub(super) const STATES: [(&str, &str, ReviewState); 6] = [
    ("", "Open", ReviewState::Open),
    ("waiting", "Waiting for sign-off", ReviewState::Waiting),
    ("disagreed", "Disagreed", ReviewState::Disagreed),
    ("decided", "Decided", ReviewState::Decided),
    ("all", "All of these", ReviewState::All),
    ("read", "Read by the rules", ReviewState::Read),
];

pub(super) const SORTS: [(&str, ReviewSort); 5] = [
    ("date", ReviewSort::Time),
    ("wallet", ReviewSort::Wallet),
    ("protocol", ReviewSort::Protocol),
    ("category", ReviewSort::Category),
    ("confidence", ReviewSort::Confidence),
];

/// Every parameter of the table's address. What is empty is left out of links.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ReviewQuery {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) chain: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) protocol: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) category: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) wallet: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) find: String,
    /// A name of `SORTS`, with a minus in front for the other direction.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) sort: String,
    /// Time, confidence, hash, wallet, category and protocol of the last row of the page before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) after: String,
}

impl ReviewQuery {
    pub(super) fn state(&self) -> ReviewState {
        STATES.iter().find(|(name, ..)| *name == self.state).map_or_else(ReviewState::default, |(.., state)| *state)
    }

    /// What nobody needed to look at is in the order of time alone.
    pub(super) fn sort(&self) -> (ReviewSort, bool) {
        let (name, is_descending) =
            self.sort.strip_prefix('-').map_or((self.sort.as_str(), false), |name| (name, true));
        let known = SORTS.iter().find(|(known, _)| *known == name && self.state() != ReviewState::Read);
        (known.map_or_else(ReviewSort::default, |(_, sort)| *sort), is_descending)
    }

    pub(super) fn filter(&self) -> ReviewFilter {
        let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let (sort, is_descending) = self.sort();
        ReviewFilter {
            state: self.state(),
            sort,
            is_descending,
            chain: given(&self.chain),
            protocol: given(&self.protocol),
            category: given(&self.category),
            wallet: given(&self.wallet).map(|wallet| spelt(&wallet)),
            hash: given(&self.find),
            after: cursor(&self.after),
        }
    }

    /// The same rows in another order, from the first on.
    pub(super) fn sorted(&self, name: &str) -> Self {
        let (now, is_descending) = self.sort();
        let is_now = SORTS.iter().any(|(known, sort)| *known == name && *sort == now);
        let sort = if is_now && !is_descending { format!("-{name}") } else { name.to_owned() };
        Self { sort, after: String::new(), ..self.clone() }
    }

    pub(super) fn after(&self, last: &ReviewCursor) -> Self {
        let ReviewCursor { time, hash, wallet, protocol, category, confidence } = last;
        Self { after: format!("{time}:{confidence}:{hash}:{wallet}:{category}:{protocol}"), ..self.clone() }
    }

    pub(super) fn text(&self) -> String {
        serde_urlencoded::to_string(self).unwrap_or_default()
    }

    pub(super) fn path(&self, book_id: &str) -> String {
        let text = self.text();
        let mark = if text.is_empty() { "" } else { "?" };
        // The id was that of a book, or else nobody is led anywhere.
        format!("/books/{book_id}/review{mark}{text}")
    }
}

/// What is no cursor of ours begins at the first row.
fn cursor(text: &str) -> Option<ReviewCursor> {
    let mut parts = text.splitn(6, ':');
    let time = parts.next()?.parse().ok()?;
    let confidence = parts.next()?.parse().ok()?;
    let mut next = || parts.next().map(str::to_owned);
    let (hash, wallet, category) = (next()?, next()?, next()?);
    Some(ReviewCursor { time, hash, wallet, category, confidence, protocol: next()? })
}

/// As rows have it, where it is an address.
fn spelt(wallet: &str) -> String {
    engine::Account::parse(wallet).map_or_else(|_| wallet.to_owned(), |account| account.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_all_of_it_and_comes_back() {
        let query: ReviewQuery = serde_urlencoded::from_str("state=all&sort=-protocol&find=0xAB&wallet=w").unwrap();
        let last = ReviewCursor {
            time: -5,
            hash: "0xab".to_owned(),
            wallet: String::new(),
            protocol: "A: b".to_owned(),
            category: "swap".to_owned(),
            confidence: 61,
        };
        let next: ReviewQuery = serde_urlencoded::from_str(&query.after(&last).text()).unwrap();
        let filter = next.filter();
        assert_eq!((filter.after, filter.state, filter.is_descending), (Some(last), ReviewState::All, true));
        assert_eq!((filter.sort, filter.hash.as_deref()), (ReviewSort::Protocol, Some("0xAB")));
        assert_eq!(next.sorted("protocol").sort, "protocol");
        assert_eq!(next.sorted("date").text(), "state=all&wallet=w&find=0xAB&sort=date");
        assert_eq!(ReviewQuery::default().path("b"), "/books/b/review");
        for odd in ["", "x", "1:2:3", "9999999999999999999999:1:a:b:c:d"] {
            assert_eq!(cursor(odd), None, "{odd}");
        }
    }
}
