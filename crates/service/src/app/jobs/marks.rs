//! What is known of the rows of a part without unpacking their answers: when each transaction was, and how it was read. Rows are sorted and filtered by it.

use std::sync::Arc;

use engine::Classification;
use serde::Deserialize;

/// The first bytes, and behind them the version. In the form before this one the first eight bytes were the time of the first row in seconds, which is never as
/// large as these are when they are read as a number.
const FORM: [u8; 7] = *b"marks\0\0";
const VERSION: u8 = 1;
const TIME_BYTES: usize = 8;
/// A time, the flags, three numbers of names, and a digest.
const ROW_BYTES: usize = TIME_BYTES + 1 + 3 * 2 + 8;
const NAME_BYTES_MAX: usize = 255;
/// The time of a row that is not read yet.
const UNREAD: i64 = i64::MIN;
/// The time of a row that could not be read: it sorts behind all others.
const FAILED: i64 = i64::MAX;
const IS_SAID: u8 = 1;
const NEEDS_REVIEW: u8 = 2;
/// FNV-1a with 64 bits: it is kept with the marks, so it must be the same in every version.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// What is known of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Seconds since 1970; 0 where that is not known.
    pub(super) time: i64,
    /// Nothing where it is not read, or was written before this was kept.
    pub(super) said: Option<Said>,
}

/// What the answer of a row says, in words that a later version has too. A row that could not be read has neither category nor treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) category: Arc<str>,
    pub(super) treatment: Arc<str>,
    pub(super) chain: Arc<str>,
    pub(super) needs_review: bool,
    /// Which row of a book it is.
    pub(super) key: u64,
}

impl Said {
    pub(super) fn of(row: &Classification) -> Self {
        let wallet = row.perspective.map(|wallet| wallet.to_string()).unwrap_or_default();
        let is_read = row.error.is_none();
        Self {
            category: if is_read { row.category.name() } else { "" }.into(),
            treatment: if is_read { row.treatment.name() } else { "" }.into(),
            chain: row.chain.as_deref().unwrap_or_default().into(),
            needs_review: row.needs_review && is_read,
            key: digest(row.hash.as_deref().unwrap_or_default(), &wallet),
        }
    }

    /// The same from the answer itself.
    pub(super) fn of_json(json: &str) -> Option<Self> {
        let AnswerInShort { hash, perspective, chain, error, category, treatment, needs_review } =
            serde_json::from_str(json).ok()?;
        let is_read = error.is_none();
        Some(Self {
            category: category.filter(|_| is_read).unwrap_or_default().into(),
            treatment: treatment.filter(|_| is_read).unwrap_or_default().into(),
            chain: chain.unwrap_or_default().into(),
            needs_review: needs_review && is_read,
            key: digest(&hash.unwrap_or_default(), &perspective.unwrap_or_default()),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnswerInShort {
    hash: Option<String>,
    perspective: Option<String>,
    chain: Option<String>,
    error: Option<String>,
    category: Option<String>,
    treatment: Option<String>,
    needs_review: bool,
}

impl Mark {
    pub(super) fn unread() -> Self {
        Self { time: UNREAD, said: None }
    }

    pub(super) fn failed(said: Option<Said>) -> Self {
        Self { time: FAILED, said }
    }

    pub(super) fn is_read(&self) -> bool {
        is_read(self.time)
    }

    pub(super) fn is_failed(&self) -> bool {
        is_failed(self.time)
    }
}

pub(super) fn is_read(time: i64) -> bool {
    time != UNREAD
}

pub(super) fn is_failed(time: i64) -> bool {
    time == FAILED
}

/// A row of a book in eight bytes. Two of a million rows have the same about once in thirty million books.
pub(super) fn digest(hash: &str, wallet: &str) -> u64 {
    let bytes = hash.bytes().chain([b':']).chain(wallet.bytes());
    bytes.fold(FNV_START, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// The names that the rows say, each once, and then every row in as many bytes as any other.
pub(super) fn pack_marks(marks: &[Mark]) -> Vec<u8> {
    let mut names: Vec<&str> = Vec::new();
    for said in marks.iter().filter_map(|mark| mark.said.as_ref()) {
        for name in [&said.category, &said.treatment, &said.chain] {
            if is_nameable(name) && !names.contains(&&**name) {
                names.push(name);
            }
        }
    }
    let mut bytes = FORM.to_vec();
    bytes.push(VERSION);
    bytes.extend(u16::try_from(names.len()).unwrap_or(u16::MAX).to_le_bytes());
    for name in names.iter().take(usize::from(u16::MAX)) {
        bytes.push(u8::try_from(name.len()).unwrap_or_default());
        bytes.extend(name.as_bytes());
    }
    for mark in marks {
        bytes.extend(packed(mark, &names));
    }
    bytes
}

fn is_nameable(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
}

/// A row with a name that has no number is as one of which nothing is known but its time.
fn packed(mark: &Mark, names: &[&str]) -> Vec<u8> {
    let number = |name: &str| names.iter().position(|known| *known == name).and_then(|at| u16::try_from(at).ok());
    let numbers = mark
        .said
        .as_ref()
        .and_then(|said| Some((said, [number(&said.category)?, number(&said.treatment)?, number(&said.chain)?])));
    let mut row = mark.time.to_le_bytes().to_vec();
    match numbers {
        None => row.resize(ROW_BYTES, 0),
        Some((said, numbers)) => {
            row.push(IS_SAID | if said.needs_review { NEEDS_REVIEW } else { 0 });
            row.extend(numbers.into_iter().flat_map(u16::to_le_bytes));
            row.extend(said.key.to_le_bytes());
        }
    }
    row
}

/// Of either form. What is neither has no rows.
pub(super) fn unpack_marks(bytes: &[u8]) -> Vec<Mark> {
    match rows_behind_names(bytes) {
        Some((names, rows)) => rows.chunks_exact(ROW_BYTES).filter_map(|row| unpacked(row, &names)).collect(),
        None => old_times(bytes).map(|time| Mark { time, said: None }).collect(),
    }
}

/// The times alone, where nothing else is asked.
pub(super) fn unpack_times(bytes: &[u8]) -> Vec<i64> {
    match rows_behind_names(bytes) {
        Some((_, rows)) => rows.chunks_exact(ROW_BYTES).filter_map(|row| number(row).map(|(time, _)| time)).collect(),
        None => old_times(bytes).collect(),
    }
}

/// Nothing where it is the form before. A version that nobody knows yet has no rows.
fn rows_behind_names(bytes: &[u8]) -> Option<(Vec<Arc<str>>, &[u8])> {
    let versioned = bytes.strip_prefix(&FORM)?;
    let known = versioned.strip_prefix(&[VERSION]).and_then(<[u8]>::split_first_chunk);
    let mut names = Vec::new();
    let Some((count, mut rest)) = known else { return Some((names, &[])) };
    for _ in 0..u16::from_le_bytes(*count) {
        let cut = rest.split_first().and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
        let Some((name, behind)) = cut else { return Some((names, &[])) };
        names.push(String::from_utf8_lossy(name).into());
        rest = behind;
    }
    Some((names, rest))
}

fn old_times(bytes: &[u8]) -> impl Iterator<Item = i64> {
    bytes.chunks_exact(TIME_BYTES).filter_map(|bytes| bytes.try_into().ok().map(i64::from_le_bytes))
}

fn number(row: &[u8]) -> Option<(i64, &[u8])> {
    row.split_first_chunk().map(|(time, rest)| (i64::from_le_bytes(*time), rest))
}

/// A number that no name has leaves the row with its time alone.
fn unpacked(row: &[u8], names: &[Arc<str>]) -> Option<Mark> {
    let (time, rest) = number(row)?;
    let said = || {
        let (flags, rest) = rest.split_first().filter(|(flags, _)| **flags & IS_SAID != 0)?;
        let (category, rest) = rest.split_first_chunk()?;
        let (treatment, rest) = rest.split_first_chunk()?;
        let (chain, rest) = rest.split_first_chunk()?;
        let name = |number: &[u8; 2]| names.get(usize::from(u16::from_le_bytes(*number))).cloned();
        Some(Said {
            category: name(category)?,
            treatment: name(treatment)?,
            chain: name(chain)?,
            needs_review: flags & NEEDS_REVIEW != 0,
            key: u64::from_le_bytes(*rest.first_chunk()?),
        })
    };
    Some(Mark { time, said: said() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(category: &str, treatment: &str, needs_review: bool) -> Said {
        let (category, treatment) = (category.into(), treatment.into());
        Said { category, treatment, chain: "base".into(), needs_review, key: digest("0x1", "0x2") }
    }

    fn all() -> Vec<Mark> {
        vec![
            Mark { time: 1_700_000_000, said: Some(said("swap", "disposal", false)) },
            Mark::unread(),
            Mark::failed(Some(said("", "", false))),
            Mark { time: 0, said: Some(said("a category of a later version", "needs_review", true)) },
            Mark { time: 5, said: None },
            Mark::failed(None),
        ]
    }

    #[test]
    fn marks_come_back_as_they_were() {
        let marks = all();
        let bytes = pack_marks(&marks);
        assert_eq!(unpack_marks(&bytes), marks);
        assert_eq!(unpack_times(&bytes), marks.iter().map(|mark| mark.time).collect::<Vec<_>>());
        assert_eq!(
            marks.iter().map(|mark| (mark.is_read(), mark.is_failed())).collect::<Vec<_>>(),
            [(true, false), (false, false), (true, true), (true, false), (true, false), (true, true)]
        );
        assert_eq!(unpack_marks(&pack_marks(&[])), []);
        let hundred = vec![Mark { time: 1, said: Some(said("swap", "disposal", false)) }; 100];
        assert!(pack_marks(&hundred).len() < 2_400, "23 bytes a row");
        let long = Mark { time: 7, said: Some(said(&"x".repeat(256), "income", false)) };
        assert_eq!(unpack_marks(&pack_marks(&[long])), [Mark { time: 7, said: None }]);
    }

    #[test]
    fn times_of_the_form_before_are_read() {
        let times = [1_700_000_000_i64, UNREAD, FAILED, 0];
        let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
        assert_eq!(unpack_times(&bytes), times);
        assert_eq!(unpack_marks(&bytes), times.map(|time| Mark { time, said: None }));
        assert!(unpack_marks(&[]).is_empty());
        let last = jiff::Timestamp::MAX.as_second();
        let first = i64::from_le_bytes(*pack_marks(&[]).first_chunk().unwrap());
        assert!(last < first && first < FAILED, "no time is taken for the form");
        let mut later = pack_marks(&all());
        later[7] = 2;
        assert!(unpack_marks(&later).is_empty() && unpack_times(&later).is_empty(), "a later form is no list of times");
    }

    #[test]
    fn bytes_of_any_kind_are_read_without_harm() {
        let bytes = pack_marks(&all());
        for end in 0..bytes.len() {
            assert!(unpack_marks(&bytes[..end]).len() <= all().len());
            unpack_times(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 0x7f, 0xff] {
                let mut bent = bytes.clone();
                bent[at] = value;
                assert_eq!(unpack_marks(&bent).len(), unpack_times(&bent).len(), "{at} {value}");
            }
        }
    }

    /// What an answer says is the same, whether it is asked or its JSON.
    #[test]
    fn an_answer_and_its_json_say_the_same() {
        let json = r#"{"api_version":"v1","hash":"0xab","chain":"base","category":"gift","treatment":"income","needs_review":true,"perspective":"0xcd"}"#;
        let read = Said::of_json(json).unwrap();
        assert_eq!(
            (&*read.category, &*read.treatment, &*read.chain, read.needs_review),
            ("gift", "income", "base", true)
        );
        assert_eq!(read.key, digest("0xab", "0xcd"));
        let failed =
            Said::of_json(r#"{"hash":"0xab","chain":null,"error":"tx_not_found","category":"unclassified"}"#).unwrap();
        assert_eq!((&*failed.category, &*failed.chain, failed.key), ("", "", digest("0xab", "")));
        assert_eq!((Said::of_json(""), Said::of_json("[1]")), (None, None));
        assert_eq!(digest("a", "b"), 0xe661_9119_04a0_1160);
    }
}
