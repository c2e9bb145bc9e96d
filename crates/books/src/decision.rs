//! What a person decided of a reading. It stands beside the verdict and never in its place: postings stay as they were read.

use engine::Classification;
use serde::Serialize;

use crate::cell::one_line;

/// Characters of a decision's own words that go into a mark; the whole of them is in `csv`, Parquet, JSON Lines and the report.
const COMMENT_CHARS_MAX: usize = 200;
/// Instead of the address of somebody whose account is gone.
const LEFT: &str = "somebody who has left";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub category: String,
    /// Nothing in those from before one was asked for.
    pub treatment: Option<String>,
    pub comment: String,
    /// Who decided; nothing where they have left.
    pub by: Option<String>,
    /// When: RFC 3339, UTC.
    pub at: String,
    /// Whether it counts only with a second person's signature.
    pub needs_signature: bool,
    pub signed_by: Option<String>,
    pub signed_at: Option<String>,
}

impl Decision {
    /// Whether a second person has yet to sign.
    pub fn waits(&self) -> bool {
        self.needs_signature && self.signed_at.is_none()
    }

    pub fn by(&self) -> &str {
        self.by.as_deref().unwrap_or(LEFT)
    }

    /// Who signed, and when.
    pub fn signed(&self) -> Option<(&str, &str)> {
        Some((self.signed_by.as_deref().unwrap_or(LEFT), self.signed_at.as_deref()?))
    }

    /// Category, and treatment where there is one.
    pub fn verdict(&self) -> String {
        match &self.treatment {
            Some(treatment) => format!("{} ({treatment})", self.category),
            None => self.category.clone(),
        }
    }

    /// All of it but the whole of a long comment.
    pub fn sentence(&self) -> String {
        let signed = match self.signed() {
            Some((by, at)) => format!(", signed by {by} at {at}"),
            None if self.waits() => ", not signed yet".to_owned(),
            None => String::new(),
        };
        let comment: String = self.comment.chars().take(COMMENT_CHARS_MAX).collect();
        let comment = if comment.is_empty() { comment } else { format!(": {comment}") };
        one_line(&format!("decided as {} by {} at {}{signed}{comment}", self.verdict(), self.by(), self.at))
    }
}

/// A reading with what a person made of it.
#[derive(Debug, Clone, Serialize)]
pub struct Reading {
    #[serde(flatten)]
    pub row: Classification,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

impl Reading {
    /// What every form of the reading must say before anything else: that taxon left it to a person, and what one decided.
    pub fn mark(&self) -> String {
        match (&self.decision, self.row.needs_review) {
            (Some(decision), _) => format!("REVIEW, {}. ", decision.sentence()),
            (None, true) => "REVIEW, not decided: ".to_owned(),
            (None, false) => String::new(),
        }
    }
}

impl From<Classification> for Reading {
    fn from(row: Classification) -> Self {
        Self { row, decision: None }
    }
}
