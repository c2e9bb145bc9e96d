//! Small pieces that several pages share: addresses, amounts, times, badges, and text that strangers wrote.

use engine::classification::AssetLeg;
use engine::treatment::Treatment;
use maud::{Markup, html};

use crate::store::ReadingRow;
use crate::text::visible;

/// Characters of a stranger's text that are shown.
const TEXT_CHARS_MAX: usize = 64;

/// Characters of it that are told when one points at it.
const TITLE_CHARS_MAX: usize = 160;

/// Digits of a 256-bit number, and more.
const ID_CHARS_MAX: usize = 80;

/// Longer than any address, hash or signature.
const ADDRESS_CHARS_MAX: usize = 128;

/// Combining marks per letter that are shown; more of them would paint over the lines above and below.
const STACKED_MARKS_MAX: usize = 2;

/// Text of a stranger, made harmless: markup is escaped, the writing direction stays inside, and what would hide or reorder is shown as a mark.
pub(super) fn text(stranger: &str) -> Markup {
    let more = |start: &str| format!("{start} ({} bytes in all)", grouped(&stranger.len().to_string()));
    isolated(stranger, TEXT_CHARS_MAX, || more(&harmless(stranger, TITLE_CHARS_MAX)))
}

/// The same where there is much of it: cut earlier, and its length is all that is told of the rest.
pub(super) fn text_within(stranger: &str, chars_max: usize) -> Markup {
    isolated(stranger, chars_max, || format!("{} bytes in all", grouped(&stranger.len().to_string())))
}

fn isolated(stranger: &str, chars_max: usize, more: impl Fn() -> String) -> Markup {
    let title = stranger.chars().nth(chars_max).map(|_| more());
    html! {
        @if stranger.trim().is_empty() { span.quiet { "(empty)" } }
        @else { bdi.stranger title=[title] { (harmless(stranger, chars_max)) } }
    }
}

/// Characters of a sentence that quotes token text.
const PROSE_CHARS_MAX: usize = 1_500;

/// Sentences of the engine, which quote token text. Text in backticks is code.
pub(super) fn prose(sentences: &str) -> Markup {
    prose_within(sentences, PROSE_CHARS_MAX)
}

pub(super) fn prose_within(sentences: &str, chars_max: usize) -> Markup {
    let shown = harmless(sentences, chars_max);
    html! {
        @for (at, part) in shown.split('`').enumerate() {
            @if at.is_multiple_of(2) { (part) } @else { code { (part) } }
        }
    }
}

/// At most `chars_max` characters, of which none hides or reorders others; an ellipsis says that there is more.
pub(super) fn harmless(stranger: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut stacked = 0_usize;
    for (at, c) in stranger.chars().enumerate() {
        if at == chars_max {
            out.push('…');
            break;
        }
        stacked = if stacks(c) { stacked.saturating_add(1) } else { 0 };
        out.push(if stacked > STACKED_MARKS_MAX { '\u{fffd}' } else { visible(c) });
    }
    out
}

/// Marks that are painted on the letter before them.
fn stacks(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}'
        | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// An address, shortened and copyable.
pub(super) fn short(address: &str) -> Markup {
    copyable(address, "address")
}

/// A hash or an address, shortened, with a button that copies the whole; `what` says what it is.
pub(super) fn copyable(whole: &str, what: &str) -> Markup {
    let whole = harmless(whole, ADDRESS_CHARS_MAX);
    let brief = shortened(&whole);
    html! {
        span.addr title=(whole) {
            code { (brief) }
            " "
            button.copy type="button" data-copy=(whole) aria-label={ "Copy " (what) " " (brief) } { "Copy" }
        }
    }
}

/// `0x1234…abcd`
pub(super) fn shortened(address: &str) -> String {
    let head: String = address.chars().take(6).collect();
    let tail = address.char_indices().rev().nth(3).and_then(|(at, _)| address.get(at..)).unwrap_or_default();
    if address.len() <= head.len().saturating_add(tail.len()).saturating_add(2) {
        return address.to_owned();
    }
    format!("{head}…{tail}")
}

/// Amount and symbol, the amount in full precision.
pub(super) fn amount(leg: &AssetLeg) -> Markup {
    amount_within(leg, TEXT_CHARS_MAX)
}

/// The same with at most so many characters of the symbol.
pub(super) fn amount_within(leg: &AssetLeg, chars_max: usize) -> Markup {
    amount_of(&leg.amount, &leg.symbol, leg.token_id.as_deref(), chars_max)
}

/// A part of a leg, with the symbol that tells an imitation from what it imitates.
pub(super) fn part_of(leg: &AssetLeg, amount: &str, chars_max: usize) -> Markup {
    amount_of(amount, leg.shown_symbol(), leg.token_id.as_deref(), chars_max)
}

fn amount_of(amount: &str, symbol: &str, token_id: Option<&str>, chars_max: usize) -> Markup {
    html! {
        span.amount {
            @match token_id {
                Some(id) => {
                    @if amount != "1" { (grouped(amount)) " × " }
                    (text_within(symbol, chars_max)) " #" (harmless(id, ID_CHARS_MAX))
                }
                None => { (grouped(amount)) " " (text_within(symbol, chars_max)) }
            }
        }
    }
}

/// `1234567.891` as `1,234,567.891`: no digit is lost.
pub(super) fn grouped(amount: &str) -> String {
    let (whole, rest) = amount.find('.').and_then(|dot| amount.split_at_checked(dot)).unwrap_or((amount, ""));
    let mut out = String::with_capacity(amount.len().saturating_add(whole.len() / 3));
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && whole.len().saturating_sub(at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(rest);
    out
}

/// A word in a frame. `tone` is one of the tones of the style sheet: `disposal`, `income`, `non_taxable`, `expense`, `needs_review`, `alarm`, `plain`.
pub(super) fn badge(tone: &str, words: &str) -> Markup {
    html! { span class={ "badge " (tone) } { (words) } }
}

pub(super) fn treatment(treatment: Treatment) -> Markup {
    badge(treatment.name(), treatment_words(treatment))
}

pub(super) fn treatment_words(treatment: Treatment) -> &'static str {
    match treatment {
        Treatment::Disposal => "Disposal",
        Treatment::Income => "Income",
        Treatment::NonTaxable => "Not taxable",
        Treatment::Expense => "Expense",
        Treatment::NeedsReview => "For review",
    }
}

/// Null is shown as undetermined, never as "no".
pub(super) fn taxable_words(taxable: Option<bool>) -> &'static str {
    match taxable {
        Some(true) => "Taxable: yes",
        Some(false) => "Taxable: no",
        None => "Taxable: undetermined",
    }
}

/// `nft_purchase` as `NFT purchase`.
pub(super) fn spoken(name: &str) -> String {
    let words: Vec<String> = name.split('_').enumerate().map(|(at, word)| spoken_word(at, word)).collect();
    words.join(" ")
}

fn spoken_word(at: usize, word: &str) -> String {
    let mut letters = word.chars();
    match (word, letters.next()) {
        ("nft" | "cex" | "mev", _) => word.to_ascii_uppercase(),
        (_, Some(first)) if at == 0 => first.to_uppercase().chain(letters).collect(),
        _ => word.to_owned(),
    }
}

/// A moment in RFC 3339, for people.
pub(super) fn time(timestamp: &str) -> Markup {
    let words = timestamp
        .parse::<jiff::Timestamp>()
        .map_or_else(|_| timestamp.to_owned(), |at| at.strftime("%-d %B %Y, %H:%M:%S UTC").to_string());
    html! { time datetime=(timestamp) { (words) } }
}

/// A time of the ledger, in milliseconds.
pub(super) fn when(millis: i64) -> Markup {
    let at = jiff::Timestamp::from_millisecond(millis - millis.rem_euclid(1_000));
    time(&at.map(|at| at.to_string()).unwrap_or_default())
}

/// The day of a moment in seconds, as owners and keys have it.
pub(super) fn day(seconds: i64) -> Markup {
    let at = jiff::Timestamp::from_second(seconds).map(|at| at.to_string()).unwrap_or_default();
    html! { time datetime=(at) { (at.split_once('T').map_or(at.as_str(), |(day, _)| day)) } }
}

/// A transaction of the person's own, and the page that draws it.
pub(super) fn link_to_reading(row: &ReadingRow) -> Markup {
    let query = serde_urlencoded::to_string([("chain", &row.chain), ("wallet", &row.wallet)]).unwrap_or_default();
    html! { a href={ "/reading/" (row.hash) "?" (query) } { code { (shortened(&row.hash)) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_strangers_is_harmless() {
        let cases = [
            ("USDC", "<bdi class=\"stranger\">USDC</bdi>"),
            ("<b>&\"", "<bdi class=\"stranger\">&lt;b&gt;&amp;&quot;</bdi>"),
            ("US\u{202e}CD", "<bdi class=\"stranger\">US\u{fffd}CD</bdi>"),
            ("a\0\n\u{7f}", "<bdi class=\"stranger\">a␀␊␡</bdi>"),
            ("e\u{301}", "<bdi class=\"stranger\">e\u{301}</bdi>"),
            (" ", "<span class=\"quiet\">(empty)</span>"),
        ];
        for (stranger, shown) in cases {
            assert_eq!(text(stranger).into_string(), shown, "{stranger:?}");
        }
    }

    #[test]
    fn long_text_is_cut_and_tells_its_length() {
        let page = text(&"é".repeat(1_000_000)).into_string();
        assert!(page.len() < 1_000 && page.contains("2,000,000 bytes in all") && page.ends_with("é…</bdi>"), "{page}");
        assert!(!text(&"x".repeat(TEXT_CHARS_MAX)).into_string().contains("title"));
    }

    #[test]
    fn addresses_are_shortened_and_copied_whole() {
        let whole = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
        let page = short(whole).into_string();
        assert!(
            page.contains("<code>0x7099…79c8</code>") && page.contains(&format!("data-copy=\"{whole}\"")),
            "{page}"
        );
        assert!(page.contains("aria-label=\"Copy address 0x7099…79c8\""), "{page}");
        for (address, shown) in [("", ""), ("0xabc", "0xabc"), ("ééééééééééééééé", "éééééé…éééé")]
        {
            assert_eq!(shortened(address), shown);
        }
    }

    #[test]
    fn digits_are_grouped_and_none_is_lost() {
        for (amount, shown) in
            [("1", "1"), ("1000", "1,000"), ("1234567.8900001", "1,234,567.8900001"), ("0.1", "0.1"), ("", "")]
        {
            assert_eq!(grouped(amount), shown);
        }
    }

    #[test]
    fn names_and_times_are_for_people() {
        assert_eq!(spoken("nft_purchase"), "NFT purchase");
        assert_eq!(spoken("liquidity_add"), "Liquidity add");
        let page = time("2026-01-31T00:31:36Z").into_string();
        assert_eq!(page, "<time datetime=\"2026-01-31T00:31:36Z\">31 January 2026, 00:31:36 UTC</time>");
        assert_eq!(time("soon").into_string(), "<time datetime=\"soon\">soon</time>");
    }
}
