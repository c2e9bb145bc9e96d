//! A caller at the ledger without the service around it: quota reserved and settled, as a call does it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use taxon::store::{Payer, Posted, Resets, SettleOutcome, Settled, Store, Turn};

/// More than any run can use up.
const POOL: i64 = 1_000_000_000;

#[derive(Debug)]
pub struct Caller {
    store: Store,
    payer: Payer,
    number: usize,
    calls: AtomicU64,
}

/// How long the two turns of a call took.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub reserve: Duration,
    pub settle: Duration,
}

impl Caller {
    pub fn new(store: &Store, owner: &str, number: usize) -> Self {
        let payer = Payer { id: owner.to_owned(), resets: Resets::Monthly, limit: Some(POOL) };
        Self { store: store.clone(), payer, number, calls: AtomicU64::new(0) }
    }

    /// Hashes that nobody had, in the caller's next call.
    pub fn fresh(&self, count: usize) -> Vec<String> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        (0..count).map(|at| format!("0x{:016x}{call:024x}{at:024x}", self.number)).collect()
    }

    /// Reserves quota for all of them and settles the new ones as billable; those that it had before are repeats, which are not settled again.
    pub async fn pair(&self, new: &[String], had: &[String]) -> anyhow::Result<Pair> {
        let call_id = format!("{:032x}", rand::random::<u128>());
        let wanted: Vec<String> = new.iter().chain(had).cloned().collect();
        let turn = Turn {
            payer: self.payer.clone(),
            period: None,
            request_id: call_id.clone(),
            call_id,
            key_id: "benchkey".to_owned(),
            has_sink: false,
            settled: Vec::new(),
            wanted,
        };
        let started = Instant::now();
        let held = self.store.turn(turn.clone()).await?;
        let reserve = started.elapsed();
        let settled = new.iter().map(|hash| Settled {
            hash: hash.clone(),
            outcome: SettleOutcome::Billable,
            category: "swap".to_owned(),
            chain: "ethereum".to_owned(),
        });
        let turn = Turn { period: Some(held.period), settled: settled.collect(), wanted: Vec::new(), ..turn };
        let started = Instant::now();
        let posted = self.store.turn(turn).await?.posted;
        let settle = started.elapsed();
        let billed = posted.iter().filter(|posted| **posted == Posted::Billed).count();
        ensure!(billed == new.len(), "{billed} of {} new hashes were billed", new.len());
        Ok(Pair { reserve, settle })
    }
}
