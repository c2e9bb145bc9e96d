//! What a run has read so far: a file beside the output, one reading a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use books::asked::Asked;
use engine::{Account, Classification, TxHash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const ENDING: &str = "part";

pub(super) struct Part {
    path: PathBuf,
    out: BufWriter<File>,
    /// By what was asked: when it happened, and where its line is.
    places: BTreeMap<Key, Place>,
    reviews: usize,
    end: u64,
}

/// The transaction, the wallet, and the chain, since some transactions are on several.
type Key = (TxHash, Option<Account>, Option<String>);

struct Place {
    /// On which chain and for whom it was read.
    view: (Option<String>, Option<Account>),
    time: String,
    number: u64,
    offset: u64,
    length: usize,
}

#[derive(Serialize)]
struct NewLine<'a> {
    wallet: Option<String>,
    chain: Option<&'a str>,
    row: &'a Classification,
}

#[derive(Deserialize)]
struct Line {
    wallet: Option<String>,
    chain: Option<String>,
    row: Classification,
}

impl Part {
    /// Begins a run, or goes on with one that had the same options and rules. A last line that was cut off is read again.
    pub(super) fn open(out: &Path, options: &Value, resume: bool) -> anyhow::Result<Self> {
        check(out, resume)?;
        let path = path_of(out);
        let shown = path.display().to_string();
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let file = file.with_context(|| format!("{shown} cannot be written"))?;
        ensure!(file.try_lock().is_ok(), "another run writes {shown}");
        let mut part = Self { path, out: BufWriter::new(file), places: BTreeMap::new(), reviews: 0, end: 0 };
        part.load(options).with_context(|| format!("{shown} is of no use for this run; delete it to begin anew"))?;
        Ok(part)
    }

    fn load(&mut self, options: &Value) -> anyhow::Result<()> {
        let head = format!("{options}\n");
        let mut lines = BufReader::new(File::open(&self.path)?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if self.end == 0 {
                ensure!(line == head.as_bytes(), "it was made with other rules or options");
            } else {
                let Line { wallet, chain, row } = serde_json::from_slice(&line)?;
                let hash =
                    row.hash.as_deref().and_then(|hash| TxHash::parse(hash).ok()).context("a row without a hash")?;
                self.note((hash, wallet.and_then(|wallet| Account::parse(&wallet).ok()), chain), &row, line.len());
            }
            self.end = self.end.saturating_add(u64::try_from(line.len())?);
            line.clear();
        }
        let file = self.out.get_mut();
        file.set_len(self.end)?;
        file.seek(SeekFrom::Start(self.end))?;
        if self.end == 0 {
            self.out.write_all(head.as_bytes())?;
            self.end = u64::try_from(head.len())?;
        }
        Ok(())
    }

    /// The line begins where the file ends so far.
    fn note(&mut self, key: Key, row: &Classification, length: usize) {
        let (time, number) =
            row.block.as_ref().map(|block| (block.timestamp.clone(), block.number)).unwrap_or_default();
        self.reviews = self.reviews.saturating_add(usize::from(row.needs_review));
        let view = (row.chain.clone(), row.perspective);
        self.places.insert(key, Place { view, time, number, offset: self.end, length });
    }

    pub(super) fn holds(&self, row: &Asked) -> bool {
        self.places.contains_key(&key(row))
    }

    pub(super) fn push(&mut self, asked: &Asked, row: &Classification) -> anyhow::Result<()> {
        let (wallet, chain) = (asked.wallet.map(|wallet| wallet.to_string()), asked.chain.as_deref());
        let mut line = serde_json::to_vec(&NewLine { wallet, chain, row })?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.note(key(asked), row, line.len());
        self.end = self.end.saturating_add(u64::try_from(line.len())?);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn reviews(&self) -> usize {
        self.reviews
    }

    /// Those that are asked for, the oldest first, within a block in the order of the table. One is in memory at a time.
    pub(super) fn rows(&self, asked: &[Asked]) -> io::Result<impl Iterator<Item = io::Result<Classification>>> {
        let mut file = File::open(&self.path)?;
        // A row without a wallet is read for the sender, whom another row may name.
        let mut seen = BTreeSet::new();
        let found = asked.iter().filter_map(|row| Some((row.hash, self.places.get(&key(row))?)));
        let once = found.filter(|(hash, place)| seen.insert((*hash, &place.view)));
        let mut places: Vec<&Place> = once.map(|(_, place)| place).collect();
        places.sort_by(|a, b| (&a.time, a.number).cmp(&(&b.time, b.number)));
        Ok(places.into_iter().map(move |place| {
            let mut bytes = vec![0; place.length];
            file.seek(SeekFrom::Start(place.offset))?;
            file.read_exact(&mut bytes)?;
            let line: Line = serde_json::from_slice(&bytes)?;
            Ok(line.row)
        }))
    }

    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// What an earlier run has read is not lost by beginning anew.
pub(super) fn check(out: &Path, resume: bool) -> anyhow::Result<()> {
    let path = path_of(out);
    let shown = path.display();
    ensure!(
        resume || !path.exists(),
        "{shown} is left of a run that stopped: say --resume to go on with it, or delete it"
    );
    Ok(())
}

fn path_of(out: &Path) -> PathBuf {
    let mut path = out.to_owned().into_os_string();
    path.push(format!(".{ENDING}"));
    path.into()
}

fn key(asked: &Asked) -> Key {
    (asked.hash, asked.wallet, asked.chain.clone())
}
