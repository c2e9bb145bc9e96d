//! The code's own tables as Markdown, so that a page and its Markdown say the same. A line such as `<!-- categories -->` in a file is where
//! one goes, `<!-- words koinly -->` where a format's does. Packs and chains may be an operator's: their text is escaped, and only web addresses become links.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use books::formats::{Becomes, FORMATS, Format, KINDS, Kind, Word};
use engine::policy::KEYS;
use engine::rules::Pack;
use engine::rules::file::PackFile;
use engine::treatments::{Authority, CategoryRow, Condition};
use engine::{Chain, Family, Knowledge, Treatments};
use reqwest::Url;

use crate::error::{self, ErrorRow, Met};
use crate::metrics;

#[derive(Debug)]
pub(super) struct Tables(Vec<(String, String)>);

impl Tables {
    pub(super) fn new(knowledge: &Knowledge, chains: &[Arc<Chain>], known: &[Arc<Chain>]) -> Self {
        let treatments = &knowledge.treatments;
        let read = [
            ("<!-- categories -->", categories(treatments)),
            ("<!-- authorities -->", authorities(&treatments.authorities)),
            ("<!-- policies -->", policies(treatments)),
            ("<!-- errors -->", errors(error::TABLE)),
            ("<!-- chains -->", served(chains)),
            ("<!-- known chains -->", known_chains(known)),
            ("<!-- protocols -->", protocols(&knowledge.rules.packs)),
            ("<!-- metrics -->", exported(metrics::TABLE)),
            ("<!-- facts -->", facts_columns()),
            ("<!-- known -->", known_fields()),
            ("<!-- verdicts -->", verdict_columns()),
        ];
        let mut tables = Self::of_formats();
        tables.0.extend(read.map(|(place, table)| (place.to_owned(), table)));
        tables
    }

    pub(super) fn of_formats() -> Self {
        let mut pages: BTreeMap<&str, Vec<&Format>> = BTreeMap::new();
        for format in &FORMATS {
            pages.entry(format.page).or_default().push(format);
        }
        let mut tables = vec![("<!-- formats -->".to_owned(), formats(&FORMATS))];
        for (page, formats) in pages {
            tables.push((format!("<!-- command {page} -->"), commands(&formats)));
            tables.push((format!("<!-- words {page} -->"), kinds(&formats)));
        }
        Self(tables)
    }

    pub(super) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (place, table)| text.replace(place, table))
    }
}

fn categories(treatments: &Treatments) -> String {
    let rows: Vec<CategoryRow> = treatments.category_rows().collect();
    let mut out = String::from("| category | treatment | ledger action | price | policy |\n|---|---|---|---|---|\n");
    for row in &rows {
        let policy = row.policy.map(|key| format!("`{}`", key.row().name)).unwrap_or_default();
        let (treatment, action, price) = (row.treatment.name(), row.ledger_action.name(), row.billing.name());
        let _ =
            writeln!(out, "| [`{0}`](#{0}) | `{treatment}` | `{action}` | {price} | {policy} |", row.category.name());
    }
    out.push_str("\n## Each category\n");
    for row in &rows {
        let _ = writeln!(out, "\n### `{}`\n\n{}", row.category.name(), words(&row.about));
        let (treatment, action, price) = (row.treatment.name(), row.ledger_action.name(), row.billing.name());
        let _ = writeln!(out, "\n- Treatment: `{treatment}`, ledger action `{action}`, {price}");
        let _ = writeln!(out, "- Basis: {}", words(&row.basis));
        if let Some(policy) = row.policy {
            let _ = writeln!(out, "- Policy: `{}` chooses the position", policy.row().name);
        }
        if let Some(grey) = &row.grey_area {
            let when = grey.when.map_or("always", circumstance);
            let (note, other, label) = (words(&grey.note), grey.alternate.treatment.name(), &grey.alternate.label);
            let _ = writeln!(out, "- Grey area, {when}: {note} The other side is `{other}`: {}.", words(label));
        }
    }
    out
}

fn authorities(rows: &[Authority]) -> String {
    let mut out = String::from("| authority | says | supports |\n|---|---|---|\n");
    for row in rows {
        let _ = writeln!(out, "| {} | {} | {} |", row.name, row.says, row.supports);
    }
    out
}

fn policies(treatments: &Treatments) -> String {
    let mut out = String::from("| key | values, the default first | governs |\n|---|---|---|\n");
    for row in &KEYS {
        let values: Vec<String> = row.choices.iter().map(|choice| format!("`{}`", choice.name)).collect();
        let governed: Vec<String> =
            treatments.governed(row.key).map(|category| format!("`{}`", category.name())).collect();
        let _ = writeln!(out, "| `{}` | {} | {} |", row.name, values.join(", "), governed.join(", "));
    }
    out
}

fn exported(rows: &[metrics::MetricRow]) -> String {
    let mut out = String::from("| metric | kind | labels | what it says |\n|---|---|---|---|\n");
    for row in rows {
        let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
        let _ =
            writeln!(out, "| `{}` | {} | {} | {} |", row.name, row.kind.name(), labels.join(", "), words(row.about));
    }
    out
}

fn facts_columns() -> String {
    let mut out = String::from("| column | type | required | what it holds |\n|---|---|---|---|\n");
    for column in &facts::schema::COLUMNS {
        let required = if column.is_required { "yes" } else { "" };
        let _ = writeln!(out, "| `{}` | {} | {required} | {} |", column.name, column.kind.name(), column.about);
    }
    out
}

fn known_fields() -> String {
    let mut out = String::from("| field | what it holds |\n|---|---|\n");
    for field in &facts::schema::KNOWN {
        let _ = writeln!(out, "| `{}` | {} |", field.name, field.about);
    }
    out
}

fn verdict_columns() -> String {
    let mut out = String::from("| column | type | what it holds |\n|---|---|---|\n");
    for column in &facts::VERDICT_COLUMNS {
        let _ = writeln!(out, "| `{}` | {} | {} |", column.name, column.kind(), column.about);
    }
    out
}

fn formats(formats: &[Format]) -> String {
    let mut out = String::from("| format | what it is | file | prices |\n|---|---|---|---|\n");
    for format in formats {
        let prices = match (format.needs_prices(), format.takes_prices()) {
            (true, _) => "needs them",
            (false, true) => "takes them",
            (false, false) => "",
        };
        let (name, page, extension) = (format.name, format.page, format.extension());
        let _ =
            writeln!(out, "| [`{name}`](formats/{page}.md) | {} | `.{extension}` | {prices} |", words(format.about));
    }
    out
}

fn commands(formats: &[&Format]) -> String {
    let mut out = String::from("```text\n");
    for format in formats {
        let prices = if format.needs_prices() { " --prices prices.csv" } else { "" };
        let (name, extension) = (format.name, format.extension());
        // Not `csv.csv`.
        let file = if name == extension { format.page } else { name };
        let _ = writeln!(out, "taxon bulk table.csv{prices} --format {name} --out {file}.{extension}");
    }
    out.push_str("```\n");
    out
}

/// What each kind of thing becomes in the formats of one page. Those in which entries keep their names have no column of their own.
fn kinds(formats: &[&Format]) -> String {
    let columns: Vec<(&str, Vec<Word>)> =
        formats.iter().filter_map(|format| Some((format.name, format.words()?))).collect();
    let has_marks = columns.iter().flat_map(|(_, words)| words).any(|word| !word.mark.is_empty());
    let mut names = vec!["what was read".to_owned(), "entry".to_owned()];
    names.extend(columns.iter().map(|(name, _)| format!("`{name}`")));
    names.extend(has_marks.then(|| "mark".to_owned()));
    let mut out = format!("| {} |\n|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (at, kind) in KINDS.iter().enumerate() {
        let row: Vec<&Word> = columns.iter().filter_map(|(_, words)| words.get(at)).collect();
        let mut cells = vec![kind.about.to_owned(), entries(kind)];
        cells.extend(becomes(&row));
        cells.extend(has_marks.then(|| row.iter().map(|word| word.mark.as_str()).collect::<String>()));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let gas = match formats.first().and_then(|format| format.carries_fees()) {
        Some(true) => "\nGas is the fee of the first row that sends something, else a row of its own, as a fee is.\n",
        Some(false) => "\nGas always has a row of its own, as a fee has.\n",
        None => "",
    };
    out + gas
}

fn entries(kind: &Kind) -> String {
    let listed = |names: Vec<&str>| names.into_iter().map(code).collect::<Vec<_>>().join(", ");
    let entries = listed(kind.entries.iter().map(|entry| entry.name()).collect());
    let categories = listed(kind.categories.iter().map(|category| category.name()).collect());
    if categories.is_empty() { entries } else { format!("{entries} of {categories}") }
}

/// What only another format of the page has is no loss.
fn becomes(row: &[&Word]) -> Vec<String> {
    let is_lost = row.iter().all(|word| word.becomes == Becomes::LeftOut);
    let cell = |word: &&Word| match &word.becomes {
        Becomes::Row(words) if words.is_empty() => "no word".to_owned(),
        Becomes::Row(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Becomes::RowEach => "a row for each side".to_owned(),
        Becomes::LeftOut if is_lost => "left out".to_owned(),
        Becomes::LeftOut => String::new(),
    };
    row.iter().map(cell).collect()
}

fn circumstance(condition: Condition) -> &'static str {
    match condition {
        Condition::OtherPartyUnknown => "unless every other party is in `own_wallets`",
        Condition::PayeeByShape => "where the payee is known only by the shape of the payment",
        Condition::NotClaimedByWallet => "where the wallet did not claim it itself",
        Condition::Free => "where nothing was paid",
        Condition::LockReceipt => "where a receipt for the lock came back",
        Condition::BothWays => "where assets moved both ways",
        Condition::OnlySent => "where assets were only sent",
        Condition::OnlyReceived => "where assets were only received",
        Condition::SomethingSent => "where an asset was sent",
        Condition::RepaidAssetDiffers => {
            "where another asset was borrowed (this transaction does not show it, so `grey_area` stays null)"
        }
        Condition::AnotherTokenArrives => "where the bridge may deliver another token",
        Condition::OneFamily => {
            "where both tokens are of one family (this transaction does not show it, so `grey_area` stays null)"
        }
    }
}

/// The table's own sentences are Markdown already.
fn errors(rows: &[ErrorRow]) -> String {
    let mut out = String::from("| code | status | met |\n|---|---|---|\n");
    for row in rows {
        let _ = writeln!(out, "| [`{0}`](#{0}) | {1} | {2} |", row.code, row.status, met(row.met));
    }
    out.push_str("\n## Each code\n");
    for row in rows {
        let _ = writeln!(out, "\n### `{}`\n\n{}\n\n- Met: {}", row.code, row.condition, met(row.met));
        if row.met != Met::Item {
            let _ = writeln!(out, "- Status: {}", row.status);
        }
        let _ = writeln!(out, "- What to do: {}", row.action);
    }
    out
}

fn met(met: Met) -> &'static str {
    match met {
        Met::Call => "on a call",
        Met::CallAndItem => "on a call, and on an item of a batch",
        Met::Item => "on an item of a batch",
    }
}

fn served(chains: &[Arc<Chain>]) -> String {
    let mut out = format!("{} chains are served here.\n\n", chains.len());
    out.push_str("| slug | name | family | chain id | coin | other names |\n|---|---|---|---|---|---|\n");
    for chain in chains {
        let family = match chain.family {
            Family::Evm => "EVM",
            Family::Solana => "Solana",
        };
        let id = chain.chain_id.map_or_else(String::new, |id| id.to_string());
        let aliases: Vec<String> = chain.aliases.iter().map(|alias| code(alias)).collect();
        let name = chain.explorer.as_deref().map_or_else(|| words(&chain.name), |url| link(&chain.name, url));
        let (slug, coin) = (code(&chain.slug), words(&chain.native_symbol));
        let _ = writeln!(out, "| {slug} | {name} | {family} | {id} | {coin} | {} |", aliases.join(", "));
    }
    out
}

/// Every chain of the registry, with what is special about it and how it was learnt.
fn known_chains(chains: &[Arc<Chain>]) -> String {
    let mut out = format!(
        "{} chains are known.\n\n| slug | chain id | coin | what is special |\n|---|---|---|---|\n",
        chains.len()
    );
    for chain in chains {
        let id = chain.chain_id.map_or_else(String::new, |id| id.to_string());
        let mut special: Vec<String> = chain.special.iter().map(|sentence| words(sentence)).collect();
        special.extend(chain.quirks.caveats.iter().map(|caveat| words(&format!("Left to a person: {}", caveat.says))));
        special.extend(chain.quirks.fee_unknown.iter().map(|why| words(&format!("No fee is stated: {why}"))));
        special.extend(chain.documented_only.then(|| "*From documentation only.*".to_owned()));
        let _ =
            writeln!(out, "| {} | {id} | {} | {} |", code(&chain.slug), words(&chain.native_symbol), special.join(" "));
    }
    out
}

fn protocols(packs: &[Pack]) -> String {
    let mut sorted: Vec<&Pack> = packs.iter().collect();
    sorted.sort_by_key(|pack| pack.name.to_lowercase());
    let (standards, brands): (Vec<&Pack>, Vec<&Pack>) = sorted.into_iter().partition(|pack| pack.file.standard);
    let mut out = String::new();
    for (heading, packs) in [("By name", brands), ("Standards", standards)] {
        let _ = writeln!(out, "## {heading}\n\n{} packs.\n", packs.len());
        for pack in packs {
            let _ = writeln!(out, "{}", protocol(pack));
        }
        out.push('\n');
    }
    out
}

/// One line, so that the browser's own search finds all of it.
fn protocol(pack: &Pack) -> String {
    let mut line = format!("- **{}** ({}) {}", words(&pack.name), code(&pack.id), words(&pack.file.about));
    let chains = deployed_on(&pack.file);
    if !chains.is_empty() {
        let _ = write!(line, " On {}.", chains.into_iter().map(words).collect::<Vec<_>>().join(", "));
    }
    // Of each source one page: the pack's own file has them all.
    let mut sources = BTreeSet::new();
    let links = pack.file.links.iter().map(|url| (host(url), url)).filter(|(host, _)| sources.insert(host.clone()));
    let links: Vec<String> = links.map(|(host, url)| link(&host, url)).collect();
    if !links.is_empty() {
        let _ = write!(line, " Checked against {}.", links.join(", "));
    }
    line
}

fn deployed_on(file: &PackFile) -> BTreeSet<&str> {
    let contracts = file.contracts.values().flat_map(|chains| chains.keys());
    let factories = file.factory.iter().flat_map(|factory| factory.at.keys());
    let mut slugs: BTreeSet<&str> = contracts.chain(factories).map(String::as_str).collect();
    if slugs.contains("every") {
        slugs.retain(|slug| *slug == "solana");
        slugs.insert("every EVM chain");
    }
    slugs
}

fn web(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()))
}

/// Whose page it is: the host, and on GitHub the owner.
fn host(text: &str) -> String {
    let Some(url) = web(text) else { return text.to_owned() };
    let host = url.host_str().unwrap_or_default().trim_start_matches("www.");
    match url.path_segments().and_then(|mut parts| parts.next()) {
        Some(owner) if host == "github.com" => format!("{host}/{owner}"),
        _ => host.to_owned(),
    }
}

/// A link, if the address is one of the web; else its words alone.
fn link(text: &str, address: &str) -> String {
    let Some(url) = web(address) else { return words(text) };
    // Within <…> only these could end the address or mean something else.
    let address = url
        .as_str()
        .replace('\\', "%5C")
        .replace('<', "%3C")
        .replace('>', "%3E")
        .replace('|', "%7C")
        .replace('&', "\\&");
    format!("[{}](<{address}>)", words(text))
}

/// Text that must be shown literally, on one line: Markdown syntax in it is escaped.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        for c in word.chars().filter(|c| !c.is_control()) {
            if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

/// A name that machines use; one with other characters than such names have is shown as words.
fn code(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if is_plain { format!("`{text}`") } else { words(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::markdown;

    const HOSTILE: &str =
        "`<script>alert(1)</script> **x** [a](javascript:alert(1)) | &lt;b&gt; \n# y ~~z~~ <https://evil.example>";

    fn html(text: &str) -> String {
        markdown::render(text, &|href| Some(href.to_owned())).html
    }

    #[test]
    fn hostile_words_are_shown_literally() {
        let shown = "`&lt;script&gt;alert(1)&lt;/script&gt; **x** [a](javascript:alert(1)) | &amp;lt;b&amp;gt; # y ~~z~~ &lt;https://evil.example&gt;";
        assert_eq!(html(&format!("x {}", words(HOSTILE))), format!("<p>x {shown}</p>\n"));
        let table = html(&format!("| a | b |\n|---|---|\n| {} | {} |\n", words(HOSTILE), code(HOSTILE)));
        assert_eq!(table.matches(shown).count(), 2, "{table}");
    }

    #[test]
    fn only_web_addresses_become_links() {
        for bad in ["javascript:alert(1)", "data:text/html,x", "ftp://example.org", "//example.org", "x", "/docs"] {
            assert!(!html(&link("text", bad)).contains("href"), "{bad}");
        }
        for hostile in [
            "https://example.org/\"><script>alert(1)</script>",
            "https://example.org/a>b) [x](javascript:alert(1))",
            "https://example.org/?a=\\>&lt;b&amp;|c",
            "HTTPS://example.org/\n<b>",
        ] {
            let out = html(&link(HOSTILE, hostile));
            assert_eq!(out.matches("<a href=\"https://example.org/").count(), 1, "{out}");
            assert_eq!(out.matches('<').count(), 4, "only the paragraph and the link: {out}");
        }
        assert_eq!(host("https://good.example@evil.example/"), "evil.example");
        assert_eq!(host("https://github.com/owner/repository"), "github.com/owner");
    }

    #[test]
    fn every_row_is_on_its_page() {
        let treatments = Treatments::us().expect("the table loads");
        let (categories, errors) = (categories(&treatments), errors(error::TABLE));
        for row in engine::category::TABLE {
            assert!(categories.contains(&format!("\n### `{}`\n", row.name)), "{}", row.name);
        }
        for row in error::TABLE {
            assert!(errors.contains(&format!("\n### `{}`\n", row.code)), "{}", row.code);
        }
    }
}
