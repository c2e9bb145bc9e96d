//! What a fleet needs for so many transactions a month: workers, requests to nodes and room in streams, from what one batch takes. Plain
//! arithmetic; what a batch takes is measured elsewhere.

/// A month of thirty days.
pub const MONTH_SECONDS: f64 = 30.0 * DAY_SECONDS;
const DAY_SECONDS: f64 = 24.0 * 3_600.0;
const GB: f64 = 1e9;

/// What a full batch takes of which nothing is cached.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    pub transactions: f64,
    /// Milliseconds of processor time.
    pub compute: f64,
    /// Milliseconds from its beginning to its end, waits for nodes included.
    pub wall: f64,
    /// HTTP requests to nodes, and the calls in them.
    pub requests: f64,
    pub calls: f64,
    /// Of the request and of the outcome before it is packed.
    pub bytes: f64,
}

/// What a worker has, and how much of it is planned for.
#[derive(Debug, Clone, Copy)]
pub struct Worker {
    pub cores: f64,
    pub share: f64,
}

/// What so many transactions a month take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needs {
    pub batches_per_second: f64,
    pub workers: f64,
    /// Batches that each worker must have in hand for its processors to be busy while nodes are waited for.
    pub in_hand: f64,
    pub requests_per_second: f64,
    pub calls_per_second: f64,
    pub requests: f64,
    pub calls: f64,
    /// Into the streams, on each server that holds them.
    pub gb_per_day: f64,
}

impl Needs {
    pub fn of(month: f64, batch: &Batch, worker: &Worker) -> Self {
        let batches = month / batch.transactions;
        let batches_per_second = batches / MONTH_SECONDS;
        // A month without transactions still has a worker.
        let workers = (batches_per_second * batch.compute / 1_000.0 / (worker.cores * worker.share)).ceil().max(1.0);
        Self {
            batches_per_second,
            workers,
            // Little's law: arrivals a second times seconds that each stays.
            in_hand: batches_per_second * batch.wall / 1_000.0 / workers,
            requests_per_second: batches_per_second * batch.requests,
            calls_per_second: batches_per_second * batch.calls,
            requests: batches * batch.requests,
            calls: batches * batch.calls,
            gb_per_day: batches_per_second * DAY_SECONDS * batch.bytes / GB,
        }
    }
}

/// The most transactions a month that so many workers read.
pub fn most_of_workers(workers: f64, batch: &Batch, worker: &Worker) -> f64 {
    let batches_per_second = workers * worker.cores * worker.share * 1_000.0 / batch.compute.max(f64::MIN_POSITIVE);
    batches_per_second * batch.transactions * MONTH_SECONDS
}

/// The most transactions a month for which nodes that take so many HTTP requests a second are enough.
pub fn most_of_nodes(requests_per_second: f64, batch: &Batch) -> f64 {
    requests_per_second / batch.requests.max(f64::MIN_POSITIVE) * batch.transactions * MONTH_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Batch =
        Batch { transactions: 100.0, compute: 30.0, wall: 90.0, requests: 4.0, calls: 400.0, bytes: 200_000.0 };
    const WORKER: Worker = Worker { cores: 2.0, share: 0.5 };

    /// 259,200,000 transactions are 100 a second, which is one batch.
    #[test]
    fn a_batch_a_second_takes_what_one_batch_takes() {
        let needs = Needs::of(259_200_000.0, &BATCH, &WORKER);
        assert_eq!((needs.batches_per_second, needs.workers), (1.0, 1.0));
        assert_eq!((needs.requests_per_second, needs.calls_per_second), (4.0, 400.0));
        assert_eq!((needs.requests, needs.calls), (10_368_000.0, 1_036_800_000.0));
        assert!((needs.in_hand - 0.09).abs() < 1e-9);
        assert!((needs.gb_per_day - 17.28).abs() < 1e-9);
    }

    #[test]
    fn what_is_needed_is_enough_and_one_worker_less_is_not() {
        let month = 100e9;
        let workers = Needs::of(month, &BATCH, &WORKER).workers;
        assert!(workers > 1.0);
        assert!(most_of_workers(workers, &BATCH, &WORKER) >= month);
        assert!(most_of_workers(workers - 1.0, &BATCH, &WORKER) < month);
        let rate = Needs::of(month, &BATCH, &WORKER).requests_per_second;
        assert!((most_of_nodes(rate, &BATCH) / month - 1.0).abs() < 1e-9);
    }
}
