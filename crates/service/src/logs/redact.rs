//! Redacts a line before it is written. The types keep secrets out of messages already; this catches what slips through, such as the text
//! of a library's error. Secrets are recognised by their form: keys, addresses with a scheme, e-mail addresses, tokens and wallets.

use crate::text::visible;

/// As `auth` makes keys.
const KEY_START: &str = "txn_";
const HIDDEN: &str = "…";
/// Hex digits of an EVM account.
const WALLET_DIGITS: usize = 40;
/// Length from which on hex digits without `0x` may be the token of a session or a link.
const TOKEN_DIGITS_MIN: usize = 48;
/// Characters of a Solana account.
const SOLANA_CHARS: std::ops::RangeInclusive<usize> = 43..=44;
/// Names whose value, after an equals sign or a colon, is a secret.
const NAMES_OF_SECRETS: [&str; 7] = ["password", "passwd", "secret", "token", "cookie", "authorization", "session"];
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// The redacted line. It stays one line: a line break inside it could forge another.
pub(super) fn redacted(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line.trim_end_matches('\n');
    let mut is_secret = false;
    while !rest.is_empty() {
        let word_end = rest.find(is_border).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let border_end = after.find(|c| !is_border(c)).unwrap_or(after.len());
        let (border, next) = after.split_at(border_end);
        if is_secret && !word.is_empty() && word != ":" && !is_scheme(word) {
            out.push_str(HIDDEN);
            is_secret = false;
        } else {
            out.extend(hidden(word).unwrap_or_else(|| word.to_owned()).chars().map(visible));
        }
        let is_assigned = word.ends_with(':') || border.contains('=') || next.starts_with(':');
        is_secret |= is_scheme(word) || (is_name(word) && is_assigned);
        out.extend(border.chars().map(|c| if c.is_control() { ' ' } else { visible(c) }));
        rest = next;
    }
    out.push('\n');
    out
}

/// Separators of words. Colon, slash and at-sign are none, so that addresses stay whole.
fn is_border(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '"' | '\'' | '`' | '=' | ',' | ';' | '(' | ')' | '<' | '>' | '{' | '}' | '[' | ']' | '\\')
}

fn is_name(word: &str) -> bool {
    let word = word.trim_end_matches(':');
    NAMES_OF_SECRETS.iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// The replacement of a word that must not be shown; `None` for any other.
fn hidden(word: &str) -> Option<String> {
    if let Some((scheme, _)) = word.split_once("://") {
        return Some(format!("{scheme}://{HIDDEN}"));
    }
    if word.contains('@') || word.to_ascii_lowercase().contains("%40") {
        return Some(format!("{HIDDEN}@{HIDDEN}"));
    }
    if let Some((before, _)) = word.split_once(KEY_START) {
        return Some(format!("{before}{KEY_START}{HIDDEN}"));
    }
    let is_part_hidden = |part: &str| is_wallet(part) || is_token(part);
    let parts = || word.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let bare = |part: &str| part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    if !parts().any(|part| is_part_hidden(&bare(part))) {
        return None;
    }
    let shown = parts().map(|part| {
        let kept = bare(part);
        if is_part_hidden(&kept) { part.replace(&kept, HIDDEN) } else { part.to_owned() }
    });
    Some(shown.collect())
}

fn is_wallet(part: &str) -> bool {
    let is_evm = part.strip_prefix("0x").is_some_and(|digits| digits.len() == WALLET_DIGITS && is_hex(digits));
    is_evm || (SOLANA_CHARS.contains(&part.len()) && part.bytes().all(is_base58) && !is_hex(part))
}

fn is_token(part: &str) -> bool {
    part.len() >= TOKEN_DIGITS_MIN && is_hex(part)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_base58(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_form() {
        let key = "txn_abcd1234_0123456789abcdefghijABCDEFGHIJ01";
        let token = "a".repeat(64);
        let wallet = "0x00000000000000000000000000000000000000Aa";
        let cases = [
            (format!("key={key} x"), "key=txn_… x".to_owned()),
            (format!("{{\"path\":\"/v1/{key}/a\"}}"), "{\"path\":\"/v1/txn_…\"}".to_owned()),
            ("at https://user:pw@node.example.com/v1/k?x=1, twice".to_owned(), "at https://…=1, twice".to_owned()),
            ("postgres://taxon:pw@db/taxon failed".to_owned(), "postgres://… failed".to_owned()),
            ("owner a.b@example.com".to_owned(), "owner …@…".to_owned()),
            ("/x/a%40example.com".to_owned(), "…@…".to_owned()),
            (format!("Authorization: Bearer {key}"), "Authorization: Bearer …".to_owned()),
            ("\"authorization\": \"Basic dXNlcjpwdw\"".to_owned(), "\"authorization\": \"Basic …\"".to_owned()),
            ("password=hunter2 host=db".to_owned(), "password=… host=db".to_owned()),
            ("{\"password\":\"hunter2\",\"a\":1}".to_owned(), "{\"password\":\"…\",\"a\":1}".to_owned()),
            ("secret: hunter2".to_owned(), "secret: …".to_owned()),
            (format!("cookie: session={token}; a=b"), "cookie: …=…; a=b".to_owned()),
            (format!("/link/{token}/x"), "/link/…/x".to_owned()),
            (format!("wallet {wallet}."), "wallet ….".to_owned()),
            ("mint So11111111111111111111111111111111111111112".to_owned(), "mint …".to_owned()),
        ];
        for (line, shown) in cases {
            assert_eq!(redacted(&line), format!("{shown}\n"), "{line}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let hash = format!("0x{}", "ab".repeat(32));
        let request = "0123456789abcdef0123456789abcdef";
        let line = format!(
            "2026-11-15T20:00:00.000000Z  INFO taxon::web: request route=\"/r/{{hash}}\" status=200 hash={hash} local=127.0.0.1:8080 request_id={request}\n"
        );
        assert_eq!(redacted(&line), line);
        let json =
            "{\"time\":\"2026-11-15T20:00:00.000000Z\",\"message\":\"the token cannot be read\",\"chains\":36}\n";
        assert_eq!(redacted(json), json);
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(redacted("name=\u{202e}evil\u{2066} x"), "name=\u{fffd}evil\u{fffd} x\n");
        assert_eq!(redacted("a\nERROR b\u{1b}[31m\r\n\n"), "a ERROR b  31m \n".replace("  31m", " [31m"));
    }
}
