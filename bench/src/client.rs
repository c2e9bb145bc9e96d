//! A caller with a key: batches over HTTP on connections that are kept.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::ensure;
use axum::body::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde_json::Value;

const CALL_SECONDS_MAX: u64 = 60;
/// For a table of a million rows, and its results.
const TABLE_SECONDS_MAX: Duration = Duration::from_secs(1_800);
/// What every result has, and what only a failed one has.
const RESULT: &[u8] = b"\"engine\":\"";
const FAILURE: &[u8] = b"\"error\":\"";

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    authorization: HeaderValue,
}

impl Client {
    pub fn new(url: &str, key: &str) -> anyhow::Result<Self> {
        let http = chains::http::client_builder()
            .no_gzip()
            .no_proxy()
            .tcp_nodelay(true)
            .timeout(Duration::from_secs(CALL_SECONDS_MAX))
            .build()?;
        Self { http, url: url.to_owned(), authorization: HeaderValue::from_static("") }.with_key(key)
    }

    /// The same connections with another key.
    pub fn with_key(&self, key: &str) -> anyhow::Result<Self> {
        Ok(Self { authorization: HeaderValue::try_from(format!("Bearer {key}"))?, ..self.clone() })
    }

    pub async fn ready(&self) -> anyhow::Result<()> {
        let answer = self.http.get(format!("{}/readyz", self.url)).send().await?;
        ensure!(answer.status().is_success(), "not ready: {}", answer.status());
        answer.bytes().await?;
        Ok(())
    }

    pub async fn post(&self, body: String) -> anyhow::Result<Bytes> {
        let request = self.http.post(format!("{}/v1/classify-batch", self.url)).body(body);
        let request = request.header(CONTENT_TYPE, "application/json").header(AUTHORIZATION, &self.authorization);
        let answer = request.send().await?;
        let status = answer.status();
        let bytes = answer.bytes().await?;
        ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
        Ok(bytes)
    }

    /// Hands in a table as a job.
    pub async fn upload(&self, table: String) -> anyhow::Result<Value> {
        let request = self.http.post(format!("{}/v1/jobs", self.url)).body(table).timeout(TABLE_SECONDS_MAX);
        self.told(request).await
    }

    pub async fn job(&self, id: &str) -> anyhow::Result<Value> {
        self.told(self.http.get(format!("{}/v1/jobs/{id}", self.url))).await
    }

    /// How many lines the results of a job have; none of them is kept.
    pub async fn results(&self, id: &str, format: &str) -> anyhow::Result<usize> {
        let request = self.http.get(format!("{}/v1/jobs/{id}/results?format={format}", self.url));
        let request = request.header(AUTHORIZATION, &self.authorization).timeout(TABLE_SECONDS_MAX);
        let mut answer = request.send().await?.error_for_status()?;
        let mut lines = 0usize;
        while let Some(piece) = answer.chunk().await? {
            lines = lines.saturating_add(memchr::memchr_iter(b'\n', &piece).count());
        }
        Ok(lines)
    }

    async fn told(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
        let answer = request.header(AUTHORIZATION, &self.authorization).send().await?;
        let status = answer.status();
        let bytes = answer.bytes().await?;
        ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
        Ok(serde_json::from_slice(&bytes)?)
    }
}

/// The body of a batch call.
pub fn batch(hashes: &[String], chain: Option<&str>) -> String {
    let mut body = String::from("{\"hashes\":[");
    for (at, hash) in hashes.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = match chain {
            Some(chain) => write!(body, "{comma}{{\"hash\":\"{hash}\",\"chain\":\"{chain}\"}}"),
            None => write!(body, "{comma}{{\"hash\":\"{hash}\"}}"),
        };
    }
    body.push_str("]}");
    body
}

/// That every item was read. The answer is not parsed, for the caller's work is on the same processors as the service's.
pub fn check(answer: &[u8], count: usize) -> anyhow::Result<()> {
    let (results, failures) = (occurrences(answer, RESULT), occurrences(answer, FAILURE));
    ensure!(failures == 0, "{failures} of {count} failed: {}", first_failure(answer));
    ensure!(results == count, "{results} results instead of {count}");
    Ok(())
}

fn occurrences(text: &[u8], wanted: &[u8]) -> usize {
    memchr::memmem::find_iter(text, wanted).count()
}

fn first_failure(answer: &[u8]) -> String {
    let at = memchr::memmem::find(answer, FAILURE).unwrap_or_default();
    String::from_utf8_lossy(answer.get(at..answer.len().min(at.saturating_add(300))).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_gaps_are_noticed() {
        let good = br#"{"results":[{"category":"swap","engine":"1"},{"category":"wrap","engine":"1"}]}"#;
        assert!(check(good, 2).is_ok());
        assert!(check(good, 3).is_err());
        let bad = br#"{"results":[{"category":"unclassified","error":"upstream_timeout","engine":"1"}]}"#;
        assert!(check(bad, 1).unwrap_err().to_string().contains("upstream_timeout"));
    }

    #[test]
    fn a_batch_is_json() {
        let body: serde_json::Value =
            serde_json::from_str(&batch(&["0x1".to_owned(), "0x2".to_owned()], Some("demo"))).unwrap();
        assert_eq!(body["hashes"][1]["hash"], "0x2");
        assert_eq!(body["hashes"][0]["chain"], "demo");
    }
}
