//! What the tables share in which people decide: a verdict and who decided otherwise in few words, and the fields of a decision.

use engine::Treatments;
use engine::category::{Category, TABLE};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use serde::de::DeserializeOwned;

use super::parts::{harmless, spoken, treatment_words};
use crate::app::{COMMENT_BYTES_MAX, DecisionDraft, TREATMENTS};

const WORD_CHARS_MAX: usize = 40;
const EMAIL_CHARS_MAX: usize = 80;

/// A category and what it comes to; nothing behind it where that is left to a person.
pub(super) fn verdict(category: &str, treatment: &str) -> Markup {
    let words = TREATMENTS.iter().find(|known| known.name() == treatment).map(|known| treatment_words(*known));
    html! { (spoken(&harmless(category, WORD_CHARS_MAX))) @if let Some(words) = words { br; span.hint { (words) } } }
}

/// How a row was read; where a person must look, what it leans to, if to anything.
pub(super) fn reading(category: &str, treatment: &str, needs_review: bool) -> Markup {
    let is_leaning = needs_review && category != Category::Unclassified.name();
    html! { @if is_leaning { span.hint { "leans to" } " " } (verdict(category, treatment)) }
}

/// Whoever has left has no address any more.
pub(super) fn person(email: &str) -> String {
    if email.contains('@') { harmless(email, EMAIL_CHARS_MAX) } else { "somebody who has left".to_owned() }
}

pub(super) fn day(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map(|at| at.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}

/// In the book's own time zone.
pub(super) fn date(seconds: i64, time_zone: &str) -> Markup {
    if seconds == 0 {
        return html! { span.quiet { "no date" } };
    }
    let zone = TimeZone::get(time_zone).unwrap_or(TimeZone::UTC);
    let at = Timestamp::from_second(seconds).unwrap_or_default().to_zoned(zone);
    html! { time datetime=(at.timestamp()) { (at.strftime("%Y-%m-%d %H:%M")) } }
}

/// Category, treatment and comment, with what was typed.
pub(super) fn fields(draft: &DecisionDraft, treatments: &Treatments) -> Markup {
    let comment: Vec<String> = draft.comment.lines().map(|line| harmless(line, COMMENT_BYTES_MAX)).collect();
    html! {
        label { "Category" select name="category" {
            option value="" { "choose" }
            @for known in TABLE { option value=(known.name) selected[known.name == draft.category] { (known.name) ", " (treatments.row(known.category).treatment.name()) } }
        } }
        label { "Treatment" select name="treatment" {
            option value="" { "the category's own" }
            @for known in TREATMENTS { option value=(known.name()) selected[known.name() == draft.treatment] { (treatment_words(known)) } }
        } }
        label { "Comment" textarea name="comment" rows="2" maxlength=(COMMENT_BYTES_MAX) { (comment.join("\n")) } }
    }
}

/// The form around such a table: which rows, what to do with them, what was written, and where to go back to.
#[derive(Debug)]
pub(super) struct ChosenRows<K, Q> {
    pub(super) rows: Vec<K>,
    pub(super) what: String,
    pub(super) draft: DecisionDraft,
    pub(super) wanted: Q,
}

impl<K, Q: Default + DeserializeOwned> ChosenRows<K, Q> {
    /// `row` reads the two halves of a row's name. `None` where it is another form.
    pub(super) fn read(fields: &[(String, String)], row: fn(&str, &str) -> Option<K>) -> Option<Self> {
        let mut chosen =
            Self { rows: Vec::new(), what: String::new(), draft: DecisionDraft::default(), wanted: Q::default() };
        for (field, value) in fields {
            match field.as_str() {
                "row" => {
                    let (one, other) = value.split_once(':')?;
                    chosen.rows.push(row(one, other)?);
                }
                "do" => value.clone_into(&mut chosen.what),
                "category" => value.clone_into(&mut chosen.draft.category),
                "treatment" => value.clone_into(&mut chosen.draft.treatment),
                "comment" => value.clone_into(&mut chosen.draft.comment),
                "back" => chosen.wanted = serde_urlencoded::from_str(value).ok()?,
                _ => {}
            }
        }
        Some(chosen).filter(|chosen| !chosen.what.is_empty())
    }
}
