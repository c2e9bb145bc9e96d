//! Try it, with an account or without: enter hashes or links, see the readings. Viewing one again is free.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use books::asked::{Asked, pasted};
use engine::{Account, Chain, Classification, Policy, Question, TxHash};
use maud::{Markup, html};
use serde::Deserialize;

use super::extract::{Anyone, PostedForm};
use super::frame::{PageError, notice, page, proof, sentence};
use super::parts::{harmless, prose_within, time, treatment, when};
use super::reading::{Shown, reading as drawn};
use super::visitor::Visitor;
use crate::app::{AdmittedCall, Asker, BATCH_ITEMS_MAX, Item, QuotaStatus, explorer_hosts};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::web::Web;

/// Characters of a hash or a wallet.
const ASKED_CHARS_MAX: usize = 128;
/// Characters of as many links as one call takes.
const PASTED_CHARS_MAX: usize = 200 * BATCH_ITEMS_MAX;
/// Characters of a word that is no hash, as the error quotes it.
const WORD_CHARS_MAX: usize = 100;
/// Characters of a description in the table of several.
const TOLD_CHARS_MAX: usize = 300;
/// Characters of an error, which quotes what was asked for; a link of a stranger may have asked.
const SAID_CHARS_MAX: usize = 600;

/// What to read, as a form or an address says it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReadingForm {
    #[serde(default)]
    hash: String,
    #[serde(default)]
    chain: String,
    #[serde(default)]
    wallet: String,
    #[serde(default)]
    lp: String,
    #[serde(default)]
    wrap: String,
    #[serde(default)]
    lst: String,
    #[serde(default)]
    staking: String,
}

impl ReadingForm {
    fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        let keys = [("lp", &self.lp), ("wrap", &self.wrap), ("lst", &self.lst), ("staking", &self.staking)];
        for (key, value) in keys {
            policy.set(key, value);
        }
        policy
    }

    /// What was pasted: hashes, or links of explorers.
    fn items(&self, explorers: &[(String, String)]) -> Result<Vec<Item>, ApiError> {
        let is_one_word = self.hash.split_whitespace().nth(1).is_none();
        let found = match pasted(&self.hash, explorers) {
            Ok(found) if found.is_empty() => return self.item().map(|item| vec![item]),
            Ok(found) => found,
            // A single one is told exactly what is wrong with it.
            Err(_) if is_one_word => return self.item().map(|item| vec![item]),
            Err(word) => {
                let word = harmless(word, WORD_CHARS_MAX);
                let said = format!("`{word}` is neither the hash of a transaction nor a link to one");
                return Err(ApiError::invalid_request(said));
            }
        };
        if found.len() > BATCH_ITEMS_MAX {
            let said =
                format!("at most {BATCH_ITEMS_MAX} at a time, not {}: upload them as a list under Jobs", found.len());
            return Err(ApiError::invalid_request(said));
        }
        let one = |asked: Asked| {
            let chain = self.chain().or(asked.chain);
            Ok(Item { hash: asked.hash, tx_id: None, chain, question: self.question()? })
        };
        found.into_iter().map(one).collect()
    }

    fn item(&self) -> Result<Item, ApiError> {
        let hash = TxHash::parse(self.hash.trim()).map_err(|error| ApiError::invalid_hash(&error))?;
        Ok(Item { hash, tx_id: None, chain: self.chain(), question: self.question()? })
    }

    /// Line by line, as it was pasted.
    fn pasted(&self) -> String {
        let lines: Vec<String> = self.hash.lines().map(|line| harmless(line, PASTED_CHARS_MAX)).collect();
        lines.join("\n")
    }

    fn chain(&self) -> Option<String> {
        Some(self.chain.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn question(&self) -> Result<Question, ApiError> {
        let wallet = Some(self.wallet.trim()).filter(|text| !text.is_empty()).map(Account::parse).transpose();
        let wallet = wallet.map_err(|error| ApiError::invalid_request(format!("wallet: {error}")))?;
        Ok(Question { wallet, policy: self.policy(), explain: true, ..Question::default() })
    }

    /// The address of the page that shows one of them, on a chain if it was named.
    fn page(&self, hash: &str, chain: Option<&str>) -> String {
        let wallet = Some(self.wallet.trim()).filter(|wallet| !wallet.is_empty());
        let fields = [("chain", chain), ("wallet", wallet)];
        let given: Vec<(&str, &str)> =
            fields.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
        let query = serde_urlencoded::to_string(given).unwrap_or_default();
        if query.is_empty() { format!("/reading/{hash}") } else { format!("/reading/{hash}?{query}") }
    }
}

/// Signed in, the account pays; else the daily pool of the address.
async fn payer(web: &Web, visitor: &Visitor) -> Result<Arc<Caller>, ApiError> {
    match &visitor.person {
        Some(person) => web.app.signed_in(person).await,
        None => Ok(web.app.anonymous(&visitor.address)),
    }
}

/// A page that classifies is admitted like any other call.
async fn called(web: &Web, visitor: &Visitor) -> Result<AdmittedCall, ApiError> {
    web.app.admit(payer(web, visitor).await?, visitor.request_id.clone()).await
}

pub(crate) async fn home(State(web): State<Web>, Anyone(visitor): Anyone) -> Result<Html<String>, PageError> {
    let main = first_page(&web, &visitor, &ReadingForm::default(), None).await?;
    Ok(page(&visitor, "Reads blockchain transactions for tax", main))
}

async fn first_page(
    web: &Web,
    visitor: &Visitor,
    asked: &ReadingForm,
    said: Option<&ApiError>,
) -> Result<Markup, ApiError> {
    let caller = payer(web, visitor).await?;
    let asker = if visitor.person.is_some() { Asker::Keyed(caller) } else { Asker::Anonymous(caller) };
    let status = web.app.quota_status(&asker, None).await?;
    Ok(html! {
        div.hero {
            h1 { "What was this transaction, for tax?" }
            p.lead { "Paste the hash of a transaction, or up to " (BATCH_ITEMS_MAX) " hashes and links of block explorers. taxon finds the chain, reads what really moved, and says what it was, with its reasons. Where it cannot know, it says so." }
        }
        @if let Some(error) = said {
            (notice("bad", &harmless(&sentence(error), SAID_CHARS_MAX)))
            @if *error == ApiError::QuotaExceeded && visitor.person.is_none() {
                p { "For more, " a href="/sign-up" { "sign up" } ": the free tier has a pool of its own." }
            }
        }
        form.try method="post" action="/try" {
            (proof(visitor))
            label { "Transaction hashes or links" textarea name="hash" data-enter rows="2" maxlength=(PASTED_CHARS_MAX) placeholder="0x… or a Solana signature" autocomplete="off" spellcheck="false" required autofocus { (asked.pasted()) } }
            details open[!asked.chain.is_empty() || !asked.wallet.is_empty()] {
                summary { "Chain and wallet (found when left out)" }
                label { "Chain" select name="chain" {
                    option value="" { "find it" }
                    @for slug in web.app.reader.served_slugs() { option value=(slug) selected[slug == asked.chain] { (slug) } }
                } }
                label { "Read it as this wallet saw it" input name="wallet" value=(harmless(&asked.wallet, ASKED_CHARS_MAX)) maxlength=(ASKED_CHARS_MAX) autocomplete="off" spellcheck="false"; }
            }
            button { "Read it" }
            p.hint { (left(&status, visitor)) }
        }
        @if web.app.reader.served_slugs().iter().any(|slug| slug == "demo") { (samples(visitor)) }
        section.pitch {
            h2 { "What you get" }
            ul {
                li { "A category, one of five treatments, and whether it is taxable: yes, no, or undetermined." }
                li { "Every amount to the last digit, from whom and to whom." }
                li { "The evidence, down to the log or instruction." }
                li { "An API of 100 transactions a call, clients, and tools for agents: " a href="/docs/quickstart" { "Quickstart" } "." }
            }
        }
    })
}

fn left(status: &QuotaStatus, visitor: &Visitor) -> Markup {
    match status {
        QuotaStatus::Pool(pool) => html! {
            (pool.left()) " of " (pool.limit()) " left " @if visitor.person.is_some() { "this month" } @else { "today" }
            ". Repeats, plain transfers, approvals and spam are free."
        },
        QuotaStatus::Partner(_) => html! { "Metered: there is no limit." },
    }
}

/// Transactions of the demo chains, each a click away.
const SAMPLES: [(&str, &str, &str); 5] = [
    ("A swap", "demo", "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109"),
    ("Liquidity added", "demo", "0xb9945f15a9ad04591ac0fc41c2cef241357be0d772709204a2eef8cf4b8381a0"),
    ("A flash loan", "demo", "0x1df7c94698a5a77de22d4e0a3954b883761ed291b9b467525262e3413849dff9"),
    ("A forged swap", "demo", "0x2a5dc6561c39e2d6d7c72872f80219949209994a823d112d4010c827f075ddb4"),
    ("Several accounts", "demo", "0xc5074f9b7e34db9b68016d06df725ed4be2397230efb2f381e05695d30e1a187"),
];

fn samples(visitor: &Visitor) -> Markup {
    html! {
        section aria-labelledby="samples" {
            h2 id="samples" { "Or one of these" }
            p.hint { "From the demo chain: real contracts, recorded." }
            ul.samples { @for (name, chain, hash) in SAMPLES { li {
                form method="post" action="/try" {
                    (proof(visitor))
                    input type="hidden" name="hash" value=(hash);
                    input type="hidden" name="chain" value=(chain);
                    button.plain { (name) }
                }
            } } }
        }
    }
}

pub(crate) async fn read(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    PostedForm(asked): PostedForm<ReadingForm>,
) -> Result<Response, PageError> {
    let result = async {
        let call = called(&web, &visitor).await?;
        let mut items = asked.items(&explorer_hosts(&web.app.reader.registry))?;
        if let [_] = items.as_slice()
            && let Some(item) = items.pop()
        {
            let page = asked.page(&item.hash.to_string(), item.chain.as_deref());
            web.app.classify(call, item).await?;
            return Ok(Redirect::to(&page).into_response());
        }
        let rows = web.app.classify_batch(call, items).await?;
        Ok::<_, ApiError>(page(&visitor, "Readings", several(&asked, &rows)).into_response())
    };
    match result.await {
        Ok(shown) => Ok(shown),
        // Tells how long to wait.
        Err(error @ ApiError::RateLimited { .. }) => Err(error.into()),
        Err(error) => {
            let main = first_page(&web, &visitor, &asked, Some(&error)).await?;
            Ok((error.status(), page(&visitor, "That did not work", main)).into_response())
        }
    }
}

/// One line each, with a link to the whole.
fn several(asked: &ReadingForm, rows: &[Arc<Classification>]) -> Markup {
    let reviews = rows.iter().filter(|row| row.error.is_none() && row.needs_review).count();
    let failed = rows.iter().filter(|row| row.error.is_some()).count();
    html! {
        h1 { (rows.len()) " transactions" }
        p { (reviews) " for review" @if failed > 0 { ", " (failed) " not read" } ". " a href="/" { "Read others" } "." }
        div.wide {
            table {
                thead { tr { th scope="col" { "Transaction" } th scope="col" { "Reading" } th scope="col" { "In words" } } }
                tbody { @for row in rows { (one_of_several(asked, row)) } }
            }
        }
    }
}

fn one_of_several(asked: &ReadingForm, row: &Classification) -> Markup {
    let hash = row.hash.as_deref().unwrap_or_default();
    let told = row.review_note.as_deref().or(row.description.as_deref()).unwrap_or_default();
    html! {
        tr {
            td {
                a href=(asked.page(hash, row.chain.as_deref())) { code { (harmless(hash, ASKED_CHARS_MAX)) } }
                @if let Some(chain) = &row.chain { br; (chain) }
                @if let Some(block) = &row.block { ", " (time(&block.timestamp)) }
            }
            @if row.error.is_some() {
                td { "not read" }
            } @else {
                td { (row.category.name()) br; (treatment(row.treatment)) @if row.needs_review { br; strong { "for review" } } }
            }
            td { (prose_within(told, TOLD_CHARS_MAX)) }
        }
    }
}

/// What was decided on it, where it was left to a person.
async fn reviewed(web: &Web, visitor: &Visitor, row: &Classification) -> Result<Markup, PageError> {
    let (Some(person), Some(hash)) = (&visitor.person, &row.hash) else { return Ok(html! {}) };
    let wallet = row.perspective.map(|wallet| wallet.to_string()).unwrap_or_default();
    Ok(match web.app.decision_of(&person.owner_id, hash, &wallet).await? {
        Some((book, decision)) => html! {
            p.notice.good { "Decided as " code { (decision.category) } " on " (when(decision.decided_at)) ". "
                a href={ "/books/" (book) "/review?state=all&find=" (hash) } { "The decision" } }
        },
        None if row.needs_review => {
            html! { p.notice { "This one waits for you: " a href="/review" { "decide it" } "." } }
        }
        None => html! {},
    })
}

/// A reading that the caller has paid for in this period is shown; any other is offered.
pub(crate) async fn reading(
    State(web): State<Web>,
    Anyone(visitor): Anyone,
    Path(hash): Path<String>,
    Query(mut asked): Query<ReadingForm>,
) -> Result<Response, PageError> {
    asked.hash = hash;
    let item = match asked.item() {
        Ok(item) => item,
        Err(_) => return Err(PageError::NotFound),
    };
    let here = format!("/reading/{}", item.hash);
    let call = called(&web, &visitor).await?;
    // Checked first, because even a reservation that is released at once is missing from the pool for a moment, and anybody's page may link
    // here.
    let read = if web.app.accounts.was_classified(&call.caller().payer, &item.hash).await? {
        web.app.classify_again(call, item).await
    } else {
        Ok(None)
    };
    match read {
        Ok(Some(row)) => {
            let chain: Option<Arc<Chain>> =
                row.chain.as_deref().and_then(|slug| web.app.reader.registry.find(slug)).cloned();
            let wallet = Some(asked.wallet.trim()).filter(|wallet| !wallet.is_empty());
            let shown = Shown {
                row: &row,
                treatments: &web.app.reader.knowledge.treatments,
                chain: chain.as_deref(),
                policy: asked.policy(),
                here: &here,
                asked_wallet: wallet,
            };
            let main = html! { (reviewed(&web, &visitor, &row).await?) (drawn(&shown)) };
            Ok(page(&visitor, "A reading", main).into_response())
        }
        Ok(None) => {
            let main = first_page(&web, &visitor, &asked, None).await?;
            Ok(page(&visitor, "Read it", main).into_response())
        }
        Err(error) => {
            let main = first_page(&web, &visitor, &asked, Some(&error)).await?;
            Ok((error.status(), page(&visitor, "That did not work", main)).into_response())
        }
    }
}
