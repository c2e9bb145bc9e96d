//! A throw-away PostgreSQL server, removed at the end.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::service::repository;

#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    pub url: String,
}

impl Server {
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.join("postgres");
        let name = folder.to_str().context("a plain path")?;
        let url = tool(&["start", "--with", &std::process::id().to_string(), name])?;
        Ok(Self { folder, url })
    }

    /// Transactions a second of PostgreSQL's own benchmark.
    pub fn pgbench(&self, clients: usize, seconds: u64) -> anyhow::Result<f64> {
        let program = tool(&["bin", "pgbench"])?;
        let clients = clients.to_string();
        let ask = |arguments: &[&str]| -> anyhow::Result<String> {
            let output = Command::new(&program).args(arguments).arg(&self.url).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(String::from_utf8(output.stdout)?)
        };
        ask(&["--initialize", "--quiet", "--scale", &clients])?;
        let said = ask(&["--client", &clients, "--jobs", "2", "--time", &seconds.to_string()])?;
        let line = said.lines().find_map(|line| line.strip_prefix("tps = ")).context("pgbench tells its tps")?;
        line.split_whitespace().next().context("a number")?.parse().context("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(name) = self.folder.to_str() {
            let _ = tool(&["remove", name]);
        }
    }
}

fn tool(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(repository().join("tools/postgres")).args(arguments).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
