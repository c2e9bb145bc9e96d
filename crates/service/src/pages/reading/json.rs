//! The same answer as the API gives it.

use std::fmt::Write as _;
use std::io;

use engine::Classification;
use maud::{Markup, html};

use crate::text::hides;

/// JSON that the page carries whole. A page is at most 60 kB on the wire, and JSON of addresses packs to less than half.
const JSON_BYTES_MAX: usize = 40 * 1024;

/// What it carries of more: such a reading fills the page already.
const JSON_BEGINNING_BYTES_MAX: usize = 12 * 1024;

pub(super) fn section(row: &Classification) -> Markup {
    let (json, is_whole) = beginning(row);
    let bytes_max = if is_whole { JSON_BYTES_MAX } else { JSON_BEGINNING_BYTES_MAX };
    let (shown, is_cut) = harmless(&json, bytes_max);
    html! {
        section.json aria-labelledby="json" {
            h2 id="json" { "The answer as JSON" }
            details {
                summary { "As the API gives it" @if is_cut { ", the beginning" } }
                pre tabindex="0" { code { (shown) } }
                @if is_cut { p.quiet { "Cut after " (bytes_max / 1024) " kB: the API gives the whole." } }
            }
            p.quiet { "Engine " code { (row.engine) } ": the same chain data and the same engine give the same answer." }
        }
    }
}

/// The JSON up to its limit, and whether that is all of it. The rest is not even serialised.
fn beginning(row: &Classification) -> (String, bool) {
    let mut written = Bounded(Vec::new());
    let is_whole = serde_json::to_writer_pretty(&mut written, row).is_ok();
    (String::from_utf8_lossy(&written.0).into_owned(), is_whole)
}

struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = JSON_BYTES_MAX.saturating_sub(self.0.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if bytes.len() > room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// At most so many bytes, with hidden characters written as JSON's own escapes; and whether there was more.
fn harmless(json: &str, bytes_max: usize) -> (String, bool) {
    let mut out = String::with_capacity(json.len().min(bytes_max));
    for c in json.chars() {
        if out.len() >= bytes_max {
            return (out, true);
        }
        if hides(c) || (c.is_control() && c != '\n') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    (out, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_escaped_and_means_the_same() {
        let value = "a\u{202e}b\u{e0041}\u{200b}\u{85}c";
        let (shown, is_cut) = harmless(&serde_json::to_string(value).unwrap(), 1000);
        assert_eq!(shown, r#""a\u202eb\udb40\udc41\u200b\u0085c""#);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
        assert!(!is_cut);
    }

    #[test]
    fn it_is_cut_on_a_character() {
        let (shown, is_cut) = harmless(&"é".repeat(1000), 101);
        assert_eq!(shown.len(), 102);
        assert!(is_cut);
    }
}
