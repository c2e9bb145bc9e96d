//! `taxon health`: the check of a container or a unit, without a second program in the image.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use super::terminal::print;
use crate::config::Config;

/// Less than the check of the image allows, so that it ends with a reason.
const ANSWER_SECONDS_MAX: u64 = 4;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The service's address (default: where TAXON_LISTEN lets it listen)
    #[arg(long)]
    url: Option<String>,
    /// Only whether the process lives (/healthz), for what restarts a service: a database that is away needs no restart
    #[arg(long)]
    alive: bool,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let url = args.url.clone().unwrap_or_else(|| format!("http://{}", reachable(config.listen)));
    let path = if args.alive { "/healthz" } else { "/readyz" };
    // Never through a proxy: it must reach this service itself.
    let client = chains::http::client_builder().no_proxy().timeout(Duration::from_secs(ANSWER_SECONDS_MAX)).build()?;
    let asked = client.get(format!("{}{path}", url.trim_end_matches('/'))).send().await;
    // The address may hold a password, so the client's error text is not printed.
    let answer = asked.map_err(reqwest::Error::without_url).context("the service does not answer")?;
    let status = answer.status();
    if !status.is_success() {
        bail!("{path} says {status}");
    }
    print(&format!("{path} says {}\n", status.as_u16()));
    Ok(ExitCode::SUCCESS)
}

/// An unspecified address (0.0.0.0, ::) is reached over loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let loopback: IpAddr = if listen.is_ipv6() { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    SocketAddr::new(if listen.ip().is_unspecified() { loopback } else { listen.ip() }, listen.port())
}
