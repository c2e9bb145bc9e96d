//! A fleet: requests, outcomes and what failed for good are streams of NATS JetStream, and any number of workers read them. The outcome of a batch is
//! published once under the batch's own id, and everything else is derived from the outcome that is stored; so a repeat, whoever died, changes nothing.

pub(crate) mod drain;
pub(crate) mod feed;
mod jobs;
mod message;
mod nats;
pub(crate) mod place;
pub(crate) mod streams;
mod worker;

use crate::config::{self, Config};
pub(crate) use jobs::Fleet;
pub(crate) use message::{BLOCK_WALLETS_MAX, is_lane};
pub(crate) use nats::Nats;
pub(crate) use worker::{Workload, work};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NatsArgs {
    /// Servers of NATS, such as nats://user:password@host:4222, several with commas (TAXON_NATS_URL)
    #[arg(long, value_name = "URL", global = true)]
    nats: Option<String>,
}

impl NatsArgs {
    pub(crate) fn settings(&self, config: &Config) -> config::Nats {
        let known = config.nats.clone();
        config::Nats { url: self.nats.clone().or(known.url), ..known }
    }
}
