//! Wallets in the place of a table: the form that takes them, and what was found of them.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::upload::{book_choice, choices};
use super::{Forms, ListQuery, shown, transactions};
use crate::app::wallets::{Found, LISTS_TOLD_MAX};
use crate::app::{JOB_WALLETS_MAX, WalletsRequest, is_choice};
use crate::pages::extract::{PostedForm, SignedIn};
use crate::pages::frame::{PageError, proof};
use crate::pages::parts::{grouped, harmless, prose, text};
use crate::pages::visitor::Visitor;
use crate::store::BookRow;
use crate::web::Web;

const ADDRESS_CHARS_MAX: usize = 128;
const NAME_CHARS_MAX: usize = 200;
const DAY_CHARS_MAX: usize = 10;

#[derive(Debug, Default)]
pub(super) struct WalletsForm {
    wallets: String,
    has_book_wallets: bool,
    from: String,
    to: String,
    chain: String,
    book: String,
    name: String,
    policy: Vec<(String, String)>,
}

impl WalletsForm {
    /// Nothing where it is another form. A field that nobody knows is ignored.
    fn read(fields: Vec<(String, String)>) -> Option<Self> {
        fields.iter().find(|(field, _)| field == "wallets")?;
        let mut form = Self::default();
        for (field, value) in fields {
            match field.as_str() {
                "wallets" => form.wallets = value,
                "book_wallets" => form.has_book_wallets = value == "yes",
                "from" => form.from = value,
                "to" => form.to = value,
                "chain" => form.chain = value,
                "book" => form.book = value,
                "name" => form.name = value,
                _ if is_choice(&field, &value) => form.policy.push((field, value)),
                _ => {}
            }
        }
        Some(form)
    }

    fn request(&self) -> WalletsRequest {
        let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        WalletsRequest {
            book: given(&self.book),
            name: given(&self.name),
            wallets: self.addresses().map(str::to_owned).collect(),
            has_book_wallets: self.has_book_wallets,
            chain: given(&self.chain),
            from: given(&self.from),
            to: given(&self.to),
            own_wallets: Vec::new(),
            policy: self.policy.clone(),
            waits: true,
        }
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.wallets.split([',', ';', ' ', '\t', '\r', '\n']).filter(|wallet| !wallet.is_empty())
    }

    pub(super) fn drawn(&self, visitor: &Visitor, chains: &[String], books: &[BookRow]) -> Markup {
        let wallets: Vec<String> = self.addresses().map(|wallet| harmless(wallet, ADDRESS_CHARS_MAX)).collect();
        html! {
            @if chains.is_empty() {
                p { "No chain that is served here lists what a wallet did. " a href="/docs/bulk#a-wallet" { "What that needs" } "." }
            } @else {
                form.try method="post" action="/jobs/wallets" {
                    (proof(visitor))
                    label { "Wallets, one a line" textarea name="wallets" rows="3" autocomplete="off" spellcheck="false" aria-describedby="wallets-hint" { (wallets.join("\n")) } }
                    p.hint id="wallets-hint" { "Up to " (JOB_WALLETS_MAX) ". What moves between them, and the wallets of the book, is no sale." }
                    label.check { input type="checkbox" name="book_wallets" value="yes" checked[self.has_book_wallets]; " Also the wallets of the book" }
                    label { "First day (UTC)" input type="date" name="from" value=(harmless(&self.from, DAY_CHARS_MAX)); }
                    label { "Last day (UTC)" input type="date" name="to" value=(harmless(&self.to, DAY_CHARS_MAX)); }
                    label { "Look on" select name="chain" {
                        option value="" { "every chain that lists wallets" }
                        @for slug in chains { option value=(slug) selected[*slug == self.chain] { (slug) } }
                    } }
                    (book_choice(books, &self.book))
                    label { "Name (the wallet, when left out)" input name="name" value=(harmless(&self.name, NAME_CHARS_MAX)) maxlength=(NAME_CHARS_MAX) autocomplete="off"; }
                    (choices(&self.policy))
                    button { "Look up" }
                    p.hint { "Looking up is free and takes a while. You see what was found before anything is read or counted." }
                }
            }
        }
    }
}

/// The wallets are taken as by `POST /v1/jobs/wallets`; the account pays.
pub(crate) async fn create(
    State(web): State<Web>,
    signed_in: SignedIn,
    PostedForm(fields): PostedForm<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let SignedIn { visitor, person } = &signed_in;
    let form = WalletsForm::read(fields).ok_or(PageError::Form)?;
    let call = web.app.admit(web.app.signed_in(person).await?, visitor.request_id.clone()).await?;
    match web.app.take_wallets(&call, form.request()).await {
        Ok(job) => Ok(Redirect::to(&format!("/jobs/{}", job.id)).into_response()),
        Err(error) => {
            let forms = Forms { wallets: form, ..Forms::default() };
            let page = shown(&web, &signed_in, &ListQuery::default(), &forms, Some(&error)).await?;
            Ok((error.status(), page).into_response())
        }
    }
}

/// What was found of wallets, and what the sources cannot show.
pub(super) fn found(found: &Found) -> Markup {
    let listed =
        |chains: &std::collections::BTreeSet<String>| chains.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let day = |day: &Option<String>, open: &str| day.clone().unwrap_or_else(|| open.to_owned());
    html! {
        section aria-labelledby="found" {
            h2 id="found" { "What was found" }
            p { (grouped(&found.count.to_string())) " " (transactions(i64::try_from(found.count).unwrap_or(i64::MAX))) ", from " (text(&day(&found.from, "the beginning"))) " to " (text(&day(&found.to, "now"))) "." }
            @if !found.wallets.is_empty() {
                div.wide role="region" tabindex="0" aria-labelledby="found" { table {
                    thead { tr { th { "Wallet" } th { "Chain" } th { "Transactions" } } }
                    tbody { @for list in &found.wallets { tr {
                        td { code { (harmless(&list.wallet, ADDRESS_CHARS_MAX)) } }
                        td { (text(&list.chain)) }
                        td { (grouped(&list.count.to_string())) }
                    } } }
                } }
            }
            @if found.wallets.len() >= LISTS_TOLD_MAX { p.hint { "The first " (LISTS_TOLD_MAX) " are shown." } }
            @if !found.unseen.is_empty() || !found.unlisted.is_empty() {
                h3 { "What was not looked at" }
                ul {
                    @for unseen in &found.unseen { li { "On " (text(&listed(&unseen.chains))) ": " bdi.stranger { (prose(&unseen.what)) } "." } }
                    @if !found.unlisted.is_empty() { li { "No explorer is named for " (text(&listed(&found.unlisted))) "." } }
                }
            }
        }
    }
}
