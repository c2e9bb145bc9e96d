//! Where tables are: a folder, or a bucket that speaks S3. What is put there is there whole or not at all.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, RetryConfig};

const BUCKET: &str = "s3://";
/// How often a store is asked again that does not answer, and for how long in all.
const TRIES_MAX: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);
/// Files of one folder or prefix that are looked at.
const FILES_MAX: usize = 1_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Place {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    shown: String,
}

/// A file, by its name below the place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// What changes when the file does.
    pub(crate) version: String,
}

impl Place {
    /// A folder that is there, or a bucket; the latter's key and region are in the variables that S3's own tools read.
    pub(crate) fn open(text: &str) -> anyhow::Result<Self> {
        let shown = text.to_owned();
        if let Some(rest) = text.strip_prefix(BUCKET) {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            ensure!(!bucket.is_empty(), "{text} names no bucket");
            chains::http::ready();
            let retry = RetryConfig { max_retries: TRIES_MAX, retry_timeout: PATIENCE, ..RetryConfig::default() };
            let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build();
            let store = store.with_context(|| format!("{text} cannot be opened"))?;
            return Ok(Self { store: Arc::new(store), prefix: Path::parse(prefix)?, shown });
        }
        let store = LocalFileSystem::new_with_prefix(text).with_context(|| format!("{text} cannot be opened"))?;
        Ok(Self { store: Arc::new(store), prefix: Path::default(), shown })
    }

    pub(crate) fn is_bucket(text: &str) -> bool {
        text.starts_with(BUCKET)
    }

    /// Where the first of it may be written.
    pub(crate) fn open_or_make(text: &str) -> anyhow::Result<Self> {
        if !Self::is_bucket(text) {
            std::fs::create_dir_all(text).with_context(|| format!("{text} cannot be made"))?;
        }
        Self::open(text)
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    fn path(&self, name: &str) -> anyhow::Result<Path> {
        let below = Path::parse(name)?;
        Ok(self.prefix.parts().chain(below.parts()).collect())
    }

    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> anyhow::Result<()> {
        let told = || format!("{name} cannot be written to {}", self.shown);
        self.store.put(&self.path(name)?, bytes.into()).await.with_context(told)?;
        Ok(())
    }

    /// `None` where there is no such file.
    pub(crate) async fn get(&self, name: &str) -> anyhow::Result<Option<Bytes>> {
        let told = || format!("{name} cannot be read from {}", self.shown);
        match self.store.get(&self.path(name)?).await {
            Ok(file) => Ok(Some(file.bytes().await.with_context(told)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error).with_context(told),
        }
    }

    /// A copy that can be read from any place in it; it goes when it is closed.
    pub(crate) async fn copy(&self, name: &str) -> anyhow::Result<File> {
        let told = || format!("{name} cannot be read from {}", self.shown);
        let found = self.store.get(&self.path(name)?).await.with_context(told)?;
        let mut file = tempfile::tempfile()?;
        let mut parts = found.into_stream();
        while let Some(part) = parts.try_next().await.with_context(told)? {
            file.write_all(&part)?;
        }
        file.rewind()?;
        Ok(file)
    }

    pub(crate) async fn remove(&self, name: &str) -> anyhow::Result<()> {
        let told = || format!("{name} cannot be removed from {}", self.shown);
        self.store.delete(&self.path(name)?).await.with_context(told)
    }

    /// Every file below it, by name.
    pub(crate) async fn files(&self) -> anyhow::Result<Vec<Found>> {
        let told = || format!("{} cannot be listed", self.shown);
        let mut found = Vec::new();
        let mut listed = self.store.list(Some(&self.prefix));
        while let Some(file) = listed.try_next().await.with_context(told)? {
            ensure!(found.len() < FILES_MAX, "{} has more than {FILES_MAX} files", self.shown);
            let Some(parts) = file.location.prefix_match(&self.prefix) else { continue };
            let name: Path = parts.collect();
            let version = file.e_tag.unwrap_or_else(|| file.last_modified.to_rfc3339());
            found.push(Found { name: name.to_string(), bytes: file.size, version });
        }
        found.sort();
        Ok(found)
    }
}
