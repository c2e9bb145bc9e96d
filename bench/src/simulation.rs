//! A simulation of many instances and keys, call by call: instances with a few processors each behind a proxy, and one database with a lock per
//! payer. Times are drawn from what was measured; the same seed gives the same figures.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::figures::{Sorted, number};

/// Milliseconds that something takes.
#[derive(Debug, Clone)]
pub enum Draw {
    Nothing,
    /// One of these at random.
    Measured(Vec<f64>),
    Exponential(f64),
}

impl Draw {
    pub fn mean(&self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Measured(times) => Sorted::new(times.clone()).mean(),
            Self::Exponential(mean) => *mean,
        }
    }

    fn draw(&self, random: &mut SmallRng) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Measured(times) => times.get(random.random_range(0..times.len().max(1))).copied().unwrap_or_default(),
            Self::Exponential(mean) => exponential(*mean, random),
        }
    }
}

fn exponential(mean: f64, random: &mut SmallRng) -> f64 {
    -mean * (1.0 - random.random::<f64>()).ln()
}

/// When a key calls. On average all patterns call equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Once a second, at a moment of its own.
    Regular,
    Poisson,
    /// So many at the same moment, at random moments.
    Bursts(u32),
}

/// What one call takes.
#[derive(Debug, Clone)]
pub struct Work {
    /// Processor time before the ledger is asked, and after.
    pub read: Draw,
    pub answer: Draw,
    pub reserve: Draw,
    pub settle: Draw,
    /// How many of a thousand calls go upstream; what they take on top.
    pub cold_per_mille: u32,
    pub cold_compute: Draw,
    pub cold_wait: Draw,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub keys: usize,
    /// Calls of a key in a second.
    pub rate: f64,
    pub arrivals: Arrivals,
    pub instances: usize,
    pub cores: usize,
    /// Turns that the database does at once.
    pub database: usize,
    pub seconds: f64,
    pub seed: u64,
}

#[derive(Debug)]
pub struct Outcome {
    /// Milliseconds from call to answer.
    pub latencies: Sorted,
    /// How much of the instances' processors, and of the database, was in use.
    pub compute_share: f64,
    pub database_share: f64,
}

impl Plan {
    /// What is asked of the processors and of the database, as a share of what there is: past 1 the queue only grows.
    pub fn offered(&self, work: &Work) -> (f64, f64) {
        let calls_per_milli = number(self.keys) * self.rate / 1_000.0;
        let cold = f64::from(work.cold_per_mille) / 1_000.0 * work.cold_compute.mean();
        let compute = work.read.mean() + work.answer.mean() + cold;
        let turns = work.reserve.mean() + work.settle.mean();
        (
            calls_per_milli * compute / number(self.instances * self.cores),
            calls_per_milli * turns / number(self.database),
        )
    }

    pub fn run(&self, work: &Work) -> Outcome {
        let mut world = World::new(self, work);
        world.schedule_arrivals();
        world.run();
        let until = world.now.max(f64::MIN_POSITIVE);
        let busy: f64 = world.instances.iter().map(|station| station.busy_millis).sum();
        Outcome {
            latencies: Sorted::new(world.latencies),
            compute_share: busy / until / number(self.instances * self.cores),
            database_share: world.database.busy_millis / until / number(self.database),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Read,
    Reserve,
    Upstream,
    Answer,
    Settle,
}

#[derive(Debug, Clone, Copy)]
struct Call {
    arrived: f64,
    key: usize,
    instance: usize,
    stage: Stage,
    is_cold: bool,
}

/// Some servers with one queue.
#[derive(Debug)]
struct Station {
    free: usize,
    queue: VecDeque<Call>,
    busy_millis: f64,
}

impl Station {
    fn new(servers: usize) -> Self {
        Self { free: servers, queue: VecDeque::new(), busy_millis: 0.0 }
    }
}

/// Turns of one payer come one after the other.
#[derive(Debug, Default, Clone)]
struct Lock {
    is_held: bool,
    waiting: VecDeque<Call>,
}

/// The begin or end of a stage of a call.
#[derive(Debug, Clone, Copy)]
struct Event {
    at: f64,
    /// Events of one moment happen in the order in which they were planned.
    order: u64,
    ends: bool,
    call: Call,
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

struct World<'a> {
    plan: &'a Plan,
    work: &'a Work,
    random: SmallRng,
    now: f64,
    events: BinaryHeap<Reverse<Event>>,
    planned: u64,
    instances: Vec<Station>,
    database: Station,
    locks: Vec<Lock>,
    latencies: Vec<f64>,
}

impl<'a> World<'a> {
    fn new(plan: &'a Plan, work: &'a Work) -> Self {
        Self {
            plan,
            work,
            random: SmallRng::seed_from_u64(plan.seed),
            now: 0.0,
            events: BinaryHeap::new(),
            planned: 0,
            instances: (0..plan.instances).map(|_| Station::new(plan.cores)).collect(),
            database: Station::new(plan.database),
            locks: vec![Lock::default(); plan.keys],
            latencies: Vec::new(),
        }
    }

    fn schedule_arrivals(&mut self) {
        let gap = 1_000.0 / self.plan.rate;
        let end = self.plan.seconds * 1_000.0;
        for key in 0..self.plan.keys {
            let (burst, mut at) = match self.plan.arrivals {
                Arrivals::Regular => (1, self.random.random_range(0.0..gap)),
                Arrivals::Poisson => (1, exponential(gap, &mut self.random)),
                Arrivals::Bursts(size) => (size, exponential(gap * f64::from(size), &mut self.random)),
            };
            while at < end {
                for _ in 0..burst {
                    self.arrive(key, at);
                }
                at += match self.plan.arrivals {
                    Arrivals::Regular => gap,
                    Arrivals::Poisson | Arrivals::Bursts(_) => exponential(gap * f64::from(burst), &mut self.random),
                };
            }
        }
    }

    fn arrive(&mut self, key: usize, at: f64) {
        let is_cold = self.random.random_range(0..1_000) < self.work.cold_per_mille;
        // The proxy is round-robin; which instance it is depends on the time of arrival, so it is chosen when the call begins.
        let call = Call { arrived: at, key, instance: 0, stage: Stage::Read, is_cold };
        self.plan_event(at, false, call);
    }

    fn plan_event(&mut self, at: f64, ends: bool, call: Call) {
        self.planned += 1;
        self.events.push(Reverse(Event { at, order: self.planned, ends, call }));
    }

    fn run(&mut self) {
        let mut turn = 0usize;
        while let Some(Reverse(event)) = self.events.pop() {
            self.now = event.at;
            if event.ends {
                self.end(event.call);
            } else {
                let instance = turn % self.plan.instances.max(1);
                turn = turn.wrapping_add(1);
                self.begin(Call { instance, ..event.call });
            }
        }
    }

    /// The call asks for what its stage takes, and waits where that is in use.
    fn begin(&mut self, call: Call) {
        if self.takes_nothing(call) {
            return self.advance(call);
        }
        match call.stage {
            Stage::Read | Stage::Answer => self.enter(call),
            Stage::Upstream => {
                let span = self.span(call);
                self.plan_event(self.now + span, true, call);
            }
            Stage::Reserve | Stage::Settle => {
                let Some(lock) = self.locks.get_mut(call.key) else { return };
                if lock.is_held {
                    lock.waiting.push_back(call);
                } else {
                    lock.is_held = true;
                    self.enter(call);
                }
            }
        }
    }

    /// Into a station: served at once where a server is free.
    fn enter(&mut self, call: Call) {
        let Some(station) = self.station(call) else { return };
        if station.free == 0 {
            station.queue.push_back(call);
            return;
        }
        station.free -= 1;
        let span = self.span(call);
        if let Some(station) = self.station(call) {
            station.busy_millis += span;
        }
        self.plan_event(self.now + span, true, call);
    }

    fn end(&mut self, call: Call) {
        if call.stage != Stage::Upstream {
            let next = self.station(call).and_then(|station| {
                station.free += 1;
                station.queue.pop_front()
            });
            if let Some(next) = next {
                self.enter(next);
            }
        }
        if matches!(call.stage, Stage::Reserve | Stage::Settle) {
            let next = self.locks.get_mut(call.key).and_then(|lock| {
                let next = lock.waiting.pop_front();
                lock.is_held = next.is_some();
                next
            });
            if let Some(next) = next {
                self.enter(next);
            }
        }
        self.advance(call);
    }

    fn advance(&mut self, call: Call) {
        let stage = match call.stage {
            Stage::Read => Stage::Reserve,
            Stage::Reserve => Stage::Upstream,
            Stage::Upstream => Stage::Answer,
            Stage::Answer => Stage::Settle,
            Stage::Settle => return self.latencies.push(self.now - call.arrived),
        };
        self.begin(Call { stage, ..call });
    }

    /// A stage that takes no time does not wait.
    fn takes_nothing(&self, call: Call) -> bool {
        let of = |draw: &Draw| matches!(draw, Draw::Nothing);
        match call.stage {
            Stage::Read => of(&self.work.read),
            Stage::Reserve => of(&self.work.reserve),
            Stage::Upstream => !call.is_cold,
            Stage::Answer => of(&self.work.answer) && !call.is_cold,
            Stage::Settle => of(&self.work.settle),
        }
    }

    fn span(&mut self, call: Call) -> f64 {
        let work = self.work;
        match call.stage {
            Stage::Read => work.read.draw(&mut self.random),
            Stage::Reserve => work.reserve.draw(&mut self.random),
            Stage::Upstream => work.cold_wait.draw(&mut self.random),
            Stage::Answer => {
                let more = if call.is_cold { work.cold_compute.draw(&mut self.random) } else { 0.0 };
                work.answer.draw(&mut self.random) + more
            }
            Stage::Settle => work.settle.draw(&mut self.random),
        }
    }

    fn station(&mut self, call: Call) -> Option<&mut Station> {
        match call.stage {
            Stage::Reserve | Stage::Settle => Some(&mut self.database),
            Stage::Read | Stage::Upstream | Stage::Answer => self.instances.get_mut(call.instance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing_but(read: Draw) -> Work {
        Work {
            read,
            answer: Draw::Nothing,
            reserve: Draw::Nothing,
            settle: Draw::Nothing,
            cold_per_mille: 0,
            cold_compute: Draw::Nothing,
            cold_wait: Draw::Nothing,
        }
    }

    /// Mean milliseconds in a queue with Poisson arrivals and exponential service, in closed form (Erlang C).
    fn erlang(per_milli: f64, service: f64, servers: u32) -> f64 {
        let load = per_milli * service;
        let k = f64::from(servers);
        let mut term = 1.0;
        let mut sum = 1.0;
        for n in 1..servers {
            term *= load / f64::from(n);
            sum += term;
        }
        let last = term * load / k * k / (k - load);
        last / (sum + last) * service / (k - load)
    }

    #[test]
    fn waits_are_those_of_the_closed_form() {
        for (cores, keys) in [(1, 70), (2, 150), (4, 320)] {
            let plan = Plan {
                keys,
                rate: 1.0,
                arrivals: Arrivals::Poisson,
                instances: 1,
                cores,
                database: 1,
                seconds: 1_000.0,
                seed: 7,
            };
            let outcome = plan.run(&nothing_but(Draw::Exponential(10.0)));
            let expected = 10.0 + erlang(number(keys) / 1_000.0, 10.0, u32::try_from(cores).unwrap());
            let mean = outcome.latencies.mean();
            assert!((mean / expected - 1.0).abs() < 0.05, "{cores} cores: {mean} instead of {expected}");
            let share = number(keys) / 100.0 / number(cores);
            assert!((outcome.compute_share / share - 1.0).abs() < 0.02, "{}", outcome.compute_share);
        }
    }

    #[test]
    fn turns_of_one_payer_wait_for_one_another() {
        let plan = Plan {
            keys: 1,
            rate: 1.0,
            arrivals: Arrivals::Bursts(10),
            instances: 4,
            cores: 2,
            database: 32,
            seconds: 200.0,
            seed: 7,
        };
        let work = Work { reserve: Draw::Measured(vec![5.0]), ..nothing_but(Draw::Measured(vec![1.0])) };
        let outcome = plan.run(&work);
        // Of ten at once the first does not wait, and the last waits for the nine before it.
        assert!(outcome.latencies.quantile(0.05) >= 6.0, "{:?}", outcome.latencies.quantile(0.05));
        assert!(outcome.latencies.quantile(0.95) >= 50.0, "{:?}", outcome.latencies.quantile(0.95));
    }

    #[test]
    fn the_same_seed_gives_the_same_figures() {
        let plan = Plan {
            keys: 50,
            rate: 1.0,
            arrivals: Arrivals::Bursts(5),
            instances: 2,
            cores: 2,
            database: 2,
            seconds: 20.0,
            seed: 3,
        };
        let work = Work {
            cold_per_mille: 200,
            cold_wait: Draw::Measured(vec![80.0, 90.0]),
            settle: Draw::Exponential(2.0),
            ..nothing_but(Draw::Measured(vec![4.0, 6.0]))
        };
        assert_eq!(plan.run(&work).latencies.values(), plan.run(&work).latencies.values());
        assert!(!plan.run(&work).latencies.is_empty());
    }
}
