//! "Decide all like this": shown before it is done, listed afterwards, and taken back.

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::{PostedRows, key};
use crate::app::LikePreview;
use crate::pages::book::name;
use crate::pages::deciding::{day, person};
use crate::pages::extract::{PostedForm, SignedIn};
use crate::pages::frame::{PageError, page, proof};
use crate::pages::parts::{grouped, harmless, shortened, spoken};
use crate::web::Web;

const WORD_CHARS_MAX: usize = 128;
const COMMENT_CHARS_MAX: usize = 200;

fn function(bytes: &str) -> Markup {
    html! { @if bytes.is_empty() { "no function" } @else { "function " code { "0x" (harmless(bytes, WORD_CHARS_MAX)) } } }
}

/// What would be decided: how many rows, and the first of them. The button is the first thing that changes anything.
pub(super) fn preview(SignedIn { visitor, .. }: &SignedIn, preview: &LikePreview, posted: &PostedRows) -> Html<String> {
    let LikePreview { book, like, decision, count, first } = preview;
    let main = html! {
        h1 { "Decide all like this" }
        p { "On " (harmless(&like.chain, WORD_CHARS_MAX)) ", rows that call " code { (harmless(&like.contract, WORD_CHARS_MAX)) } ", " (function(&like.function))
            ", and are read as " (spoken(&like.category)) ", become " strong { (spoken(&decision.category)) } " (" (spoken(&decision.treatment)) ")." }
        p { strong { (grouped(&count.to_string())) } " open rows of " (name(book)) " are like that now. Rows of later jobs are decided in the same way, until the rule is taken back." }
        ul { @for key in first { li { a href={ "/reading/" (key.hash) } { code { (shortened(&key.hash)) } } " " code { (shortened(&key.wallet)) } } } }
        @if i64::try_from(first.len()).is_ok_and(|shown| shown < *count) { p.hint { "The first " (first.len()) " are shown." } }
        form.row method="post" action={ "/books/" (book.id) "/rules" } {
            (proof(visitor))
            @for key in &posted.rows { input type="hidden" name="row" value={ (key.hash) ":" (key.wallet) }; }
            input type="hidden" name="do" value="like";
            input type="hidden" name="category" value=(decision.category);
            input type="hidden" name="treatment" value=(decision.treatment);
            input type="hidden" name="comment" value=(decision.comment);
            input type="hidden" name="back" value=(posted.wanted.text());
            button { "Decide all of them" }
            a href=(posted.wanted.path(&book.id)) { "Back to the table" }
        }
    };
    page(visitor, "Decide all like this", main)
}

pub(crate) async fn make_rule(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(fields): PostedForm<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let posted = PostedRows::read(&fields, key).ok_or(PageError::Form)?;
    web.app.decide_like(&person.owner_id, &id, &posted.rows, &posted.draft).await?;
    Ok(Redirect::to(&posted.wanted.path(&id)).into_response())
}

pub(crate) async fn rules(
    State(web): State<Web>,
    SignedIn { visitor, person: reader }: SignedIn,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let (book, rules) = web.app.rules(&reader.owner_id, &id).await?;
    let main = html! {
        p { a href={ "/books/" (book.id) } { (name(&book)) } " · " a href={ "/books/" (book.id) "/review" } { "Review" } }
        h1 { "Rules" }
        p { "Each decides all rows that are like one that somebody chose. Taking one back undoes what came from it, but not what was changed or signed since." }
        @if rules.is_empty() { p { "None yet: choose a row of the table, and “Decide all like this”." } }
        @else { div.wide { table.dense {
            thead { tr { th { "Rows that call" } th { "Read as" } th { "Decided as" } th { "By" } th { "Decisions" } th { span.offstage { "Take back" } } } }
            tbody { @for rule in &rules { tr {
                td { (harmless(&rule.chain, WORD_CHARS_MAX)) " " code { (shortened(&rule.contract)) } br; (function(&rule.function)) }
                td { (spoken(&rule.read_category)) }
                td { (spoken(&rule.category)) " (" (spoken(&rule.treatment)) ")"
                    @if !rule.comment.is_empty() { br; bdi.stranger { (harmless(&rule.comment, COMMENT_CHARS_MAX)) } } }
                td { bdi { (person(&rule.maker)) } ", " (day(rule.made_at)) }
                td { (grouped(&rule.decided.to_string())) }
                td { form method="post" action={ "/books/" (book.id) "/rules/remove" } {
                    (proof(&visitor))
                    input type="hidden" name="rule" value=(rule.id);
                    button.plain { "Take back" }
                } }
            } } }
        } } }
    };
    Ok(page(&visitor, "Rules", main))
}

#[derive(Debug, Deserialize)]
pub(crate) struct RuleForm {
    rule: String,
}

pub(crate) async fn remove_rule(
    State(web): State<Web>,
    SignedIn { person, .. }: SignedIn,
    Path(id): Path<String>,
    PostedForm(form): PostedForm<RuleForm>,
) -> Result<Redirect, PageError> {
    web.app.remove_rule(&person.owner_id, &id, &form.rule).await?;
    Ok(Redirect::to(&format!("/books/{id}/rules")))
}
