//! A file that is there whole or not at all: one that is half written is never taken for the output.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The file under another name beside it, until it is finished. Without an end it is removed.
#[derive(Debug)]
pub(super) struct WholeFile<'a> {
    out: &'a Path,
    beside: PathBuf,
}

impl<'a> WholeFile<'a> {
    pub(super) fn create(out: &'a Path) -> anyhow::Result<(Self, BufWriter<File>)> {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let beside = folder_of(out).join(format!(".{name}.{}.new", std::process::id()));
        let file = File::create_new(&beside).with_context(|| format!("{} cannot be written", beside.display()))?;
        Ok((Self { out, beside }, BufWriter::new(file)))
    }

    pub(super) fn finish(self, mut file: BufWriter<File>) -> anyhow::Result<()> {
        file.flush()?;
        file.get_ref().sync_all()?;
        std::fs::rename(&self.beside, self.out).with_context(|| format!("{} cannot be written", self.out.display()))
    }
}

impl Drop for WholeFile<'_> {
    fn drop(&mut self) {
        // After the rename there is none.
        let _ = std::fs::remove_file(&self.beside);
    }
}

pub(super) fn folder_of(out: &Path) -> &Path {
    out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
