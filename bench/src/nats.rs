//! A NATS server with JetStream as a process of its own, on a folder that is gone afterwards.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use async_nats::jetstream;
use serde_json::Value;
use tempfile::TempDir;

use crate::service::scratch;

const START_SECONDS_MAX: u64 = 10;
const WAIT_MILLIS: u64 = 20;
const REQUESTS: &str = "TAXON_REQUESTS";
const DEAD: &str = "TAXON_DEAD";

/// It ends with this value.
#[derive(Debug)]
pub struct Nats {
    process: Child,
    pub url: String,
    _folder: TempDir,
}

impl Nats {
    pub fn start() -> anyhow::Result<Self> {
        let folder = scratch()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        // Debian keeps servers out of an ordinary user's PATH.
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("nats-server");
        command.env("PATH", path).args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder.path());
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("nats-server")?;
        let nats = Self { process, url: format!("nats://127.0.0.1:{port}"), _folder: folder };
        for _ in 0..START_SECONDS_MAX * 1_000 / WAIT_MILLIS {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(nats);
            }
            std::thread::sleep(Duration::from_millis(WAIT_MILLIS));
        }
        bail!("nats-server did not start");
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub async fn watch(&self) -> anyhow::Result<Watch> {
        Ok(Watch { context: jetstream::new(async_nats::connect(&self.url).await?) })
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // Whether it is gone already makes no difference.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sees what the streams hold.
#[derive(Debug)]
pub struct Watch {
    context: jetstream::Context,
}

impl Watch {
    /// A request as anybody may publish it.
    pub async fn publish(&self, lane: &str, request: &Value) -> anyhow::Result<()> {
        let payload = serde_json::to_vec(request)?;
        self.context.publish(format!("taxon.requests.{lane}"), payload.into()).await?.await?;
        Ok(())
    }

    /// Messages about what failed for good.
    pub async fn dead_letters(&self) -> anyhow::Result<u64> {
        Ok(self.context.get_stream(DEAD).await?.cached_info().state.messages)
    }

    /// Waits until all requests have their end.
    pub async fn until_empty(&self) -> anyhow::Result<()> {
        while self.context.get_stream(REQUESTS).await?.cached_info().state.messages > 0 {
            tokio::time::sleep(Duration::from_millis(WAIT_MILLIS)).await;
        }
        Ok(())
    }
}
