//! What a run has read so far: a file beside the output, one reading a line.

use std::collections::BTreeSet;
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
    done: BTreeSet<(TxHash, Option<Account>)>,
    /// When each happened, and where its line is.
    places: Vec<Place>,
    reviews: usize,
    end: u64,
}

struct Place {
    time: String,
    number: u64,
    offset: u64,
    length: usize,
}

#[derive(Serialize)]
struct NewLine<'a> {
    wallet: Option<String>,
    row: &'a Classification,
}

#[derive(Deserialize)]
struct Line {
    wallet: Option<String>,
    row: Classification,
}

impl Part {
    /// Begins a run, or goes on with one that had the same options and rules. A last line that was cut off is read again.
    pub(super) fn open(out: &Path, options: &Value, resume: bool) -> anyhow::Result<Self> {
        let mut path = out.to_owned().into_os_string();
        path.push(format!(".{ENDING}"));
        let path = PathBuf::from(path);
        let shown = path.display().to_string();
        ensure!(
            resume || !path.exists(),
            "{shown} is left of a run that stopped: say --resume to go on with it, or delete it"
        );
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let file = file.with_context(|| format!("{shown} cannot be written"))?;
        let mut part =
            Self { path, out: BufWriter::new(file), done: BTreeSet::new(), places: Vec::new(), reviews: 0, end: 0 };
        part.take_up(options).with_context(|| format!("{shown} cannot be gone on with; delete it to begin anew"))?;
        Ok(part)
    }

    fn take_up(&mut self, options: &Value) -> anyhow::Result<()> {
        let head = format!("{options}\n");
        let mut lines = BufReader::new(File::open(&self.path)?);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 && line.ends_with('\n') {
            if self.end == 0 {
                ensure!(line == head, "it was made with other rules or options");
            } else {
                let Line { wallet, row } = serde_json::from_str(&line)?;
                let hash =
                    row.hash.as_deref().and_then(|hash| TxHash::parse(hash).ok()).context("a row without a hash")?;
                self.done.insert((hash, wallet.and_then(|wallet| Account::parse(&wallet).ok())));
                self.note(&row, line.len());
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

    /// Before its bytes are counted.
    fn note(&mut self, row: &Classification, length: usize) {
        let (time, number) =
            row.block.as_ref().map(|block| (block.timestamp.clone(), block.number)).unwrap_or_default();
        self.reviews = self.reviews.saturating_add(usize::from(row.needs_review));
        self.places.push(Place { time, number, offset: self.end, length });
    }

    pub(super) fn holds(&self, row: &Asked) -> bool {
        self.done.contains(&(row.hash, row.wallet))
    }

    pub(super) fn push(&mut self, asked: &Asked, row: &Classification) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&NewLine { wallet: asked.wallet.map(|wallet| wallet.to_string()), row })?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.done.insert((asked.hash, asked.wallet));
        self.note(row, line.len());
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

    /// The oldest first; one is in memory at a time.
    pub(super) fn rows(&self) -> io::Result<impl Iterator<Item = io::Result<Classification>>> {
        let mut file = File::open(&self.path)?;
        let mut places: Vec<&Place> = self.places.iter().collect();
        places.sort_by(|a, b| (&a.time, a.number, a.offset).cmp(&(&b.time, b.number, b.offset)));
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
