//! The labelled set: one JSON object a line, parsed once. A broken line is refused with its number, because a label that
//! is quietly dropped or misread makes every figure wrong. `docs/eval.md` documents the fields.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use alloy_primitives::aliases::I512;
use anyhow::{Context, anyhow, bail};
use engine::{Account, Category, TxHash};
use serde::Deserialize;

use crate::cli::terminal::safe;

const LINE_BYTES_MAX: u64 = 65_536;
const LINES_MAX: usize = 100_000;
const NATIVE: &str = "native";

/// What a wallet gained or lost, in raw units. The key is the contract; the native coin has none.
pub(super) type Net = BTreeMap<Option<Account>, I512>;

#[derive(Debug)]
pub(super) struct Label {
    pub(super) hash: TxHash,
    pub(super) chain: Option<String>,
    /// Only where the label gives one; else the service chooses the perspective.
    pub(super) wallet: Option<Account>,
    /// Every one of them is accepted.
    pub(super) categories: Vec<Category>,
    pub(super) protocols: Vec<String>,
    pub(super) movements: Option<Net>,
}

pub(super) fn open(path: &Path) -> anyhow::Result<Vec<Label>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    read(BufReader::new(file)).with_context(|| path.display().to_string())
}

fn read(mut lines: impl BufRead) -> anyhow::Result<Vec<Label>> {
    let mut labels = Vec::new();
    for number in 1.. {
        let mut line = Vec::new();
        // One byte past the limit tells a line that is too long from one that just fits.
        let bytes = (&mut lines).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        if bytes.with_context(|| format!("line {number}"))? == 0 {
            break;
        }
        if number > LINES_MAX {
            bail!("more than {LINES_MAX} lines");
        }
        if u64::try_from(line.len())? > LINE_BYTES_MAX {
            bail!("line {number}: longer than {LINE_BYTES_MAX} bytes");
        }
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            labels.push(parse(line).map_err(|reason| anyhow!("line {number}: {}", safe(&reason)))?);
        }
    }
    Ok(labels)
}

#[derive(Debug, Deserialize)]
struct Line {
    hash: String,
    chain: Option<String>,
    wallet: Option<String>,
    wallet_given: Option<bool>,
    categories: Vec<String>,
    protocols: Option<Vec<String>>,
    movements: Option<BTreeMap<String, String>>,
}

fn parse(line: &[u8]) -> Result<Label, String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| fault(&error))?;
    let wallet =
        line.wallet.as_deref().map(Account::parse).transpose().map_err(|error| format!("`wallet`: {error}"))?;
    let category = |name: &String| Category::parse(name).ok_or_else(|| format!("`{name}` is no category"));
    let categories: Vec<Category> = line.categories.iter().map(category).collect::<Result<_, _>>()?;
    if categories.is_empty() {
        return Err("`categories` names none".to_owned());
    }
    Ok(Label {
        hash: TxHash::parse(&line.hash).map_err(|error| format!("`hash`: {error}"))?,
        chain: line.chain,
        wallet: wallet.filter(|_| line.wallet_given != Some(false)),
        categories,
        protocols: line.protocols.unwrap_or_default(),
        movements: line.movements.map(net).transpose()?,
    })
}

/// The parser sees one line at a time, so its own line number is always 1 and is dropped.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    format!("{reason} at column {}", error.column())
}

fn net(movements: BTreeMap<String, String>) -> Result<Net, String> {
    let mut net = Net::new();
    for (asset, amount) in movements {
        let contract = match asset.as_str() {
            NATIVE => None,
            text => Some(Account::parse(text).map_err(|error| format!("movement of `{text}`: {error}"))?),
        };
        let amount = integer(&amount).ok_or_else(|| format!("movement of `{asset}`: `{amount}` is no integer"))?;
        if net.insert(contract, amount).is_some() {
            return Err(format!("movement of `{asset}`: given twice"));
        }
    }
    net.retain(|_, amount| !amount.is_zero());
    Ok(net)
}

/// Digits with an optional minus and nothing else: the number parser also takes a plus and underscores.
pub(super) fn integer(text: &str) -> Option<I512> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { I512::from_dec_str(text).ok() } else { None }
}

/// The target of `fuzz/` over a labelled set: every line that is not blank becomes a label, or the set is refused with a line that it has.
#[cfg(any(test, feature = "fuzzing"))]
pub fn labels(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n');
    match read(bytes) {
        Ok(labels) => {
            assert_eq!(labels.len(), lines.filter(|line| !line.trim_ascii_end().is_empty()).count());
            for label in labels {
                assert!(!label.categories.is_empty());
                assert!(label.movements.iter().flatten().all(|(_, amount)| !amount.is_zero()));
            }
        }
        Err(error) => {
            let said = error.to_string();
            let number = said.strip_prefix("line ").and_then(|rest| rest.split_once(": ")).map(|(number, _)| number);
            let number = number.and_then(|number| number.parse::<usize>().ok()).unwrap_or_default();
            assert!((1..=lines.count()).contains(&number), "{said}");
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109";
    const WALLET: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

    fn line(rest: &str) -> String {
        format!(r#"{{"hash":"{HASH}","categories":["swap"]{rest}}}"#)
    }

    fn refusal(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_line_needs_only_a_hash_and_categories() {
        let labels = read(format!("{}\n\n{}", line(r#","facets":[1]"#), line("")).as_bytes()).unwrap();
        assert_eq!(labels.len(), 2);
        assert!(labels.iter().all(|label| label.wallet.is_none() && label.movements.is_none()));
    }

    #[test]
    fn a_wallet_is_sent_unless_the_label_says_not() {
        for (given, sent) in [("", true), (r#","wallet_given":true"#, true), (r#","wallet_given":false"#, false)] {
            let labels = read(line(&format!(r#","wallet":"{WALLET}"{given}"#)).as_bytes()).unwrap();
            assert_eq!(labels[0].wallet.is_some(), sent, "{given}");
        }
    }

    #[test]
    fn movements_are_exact_integers_and_zero_is_none() {
        let text = line(&format!(r#","movements":{{"native":"-1","{WALLET}":"0"}}"#));
        let net = read(text.as_bytes()).unwrap().remove(0).movements.unwrap();
        assert_eq!(net, Net::from([(None, I512::MINUS_ONE)]));
    }

    #[test]
    fn a_broken_line_is_refused_with_its_number() {
        let twice = format!(r#","movements":{{"{WALLET}":"1","{}":"1"}}"#, WALLET.to_lowercase());
        for (broken, reason) in [
            ("{".to_owned(), "EOF while parsing an object at column 1"),
            (r#"{"hash":"0x12","categories":["swap"]}"#.to_owned(), "`hash`"),
            (format!(r#"{{"hash":"{HASH}","categories":[]}}"#), "names none"),
            (format!(r#"{{"hash":"{HASH}","categories":["swop\u001b"]}}"#), "`swop\u{241b}` is no category"),
            (line(r#","wallet":"me""#), "`wallet`"),
            (line(r#","movements":{"native":"1.5"}"#), "no integer"),
            (line(r#","movements":{"native":"+1"}"#), "no integer"),
            (line(r#","movements":{"ETH":"1"}"#), "movement of `ETH`"),
            (line(&twice), "given twice"),
        ] {
            let said = refusal(&format!("{}\n{broken}\n", line("")));
            assert!(said.starts_with("line 2: ") && said.contains(reason), "{said}");
        }
    }

    #[test]
    fn a_set_has_bounds() {
        let long = " ".repeat(usize::try_from(LINE_BYTES_MAX).unwrap() + 1);
        assert_eq!(refusal(&long), format!("line 1: longer than {LINE_BYTES_MAX} bytes"));
        assert!(read("\n".repeat(LINES_MAX).as_bytes()).unwrap().is_empty());
        assert_eq!(refusal(&"\n".repeat(LINES_MAX + 1)), format!("more than {LINES_MAX} lines"));
    }
}
