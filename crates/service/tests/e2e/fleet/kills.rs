//! A cluster of three servers and four workers, all of which die, stand still and come back while requests flow, and whose clocks jump.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::drain;
use super::servers::{Client, Server};
use crate::crash::within;
use crate::harness::{Running, Setup};

const ROWS: usize = 50_000;
const KILLS: usize = 100;
const WORKERS: usize = 4;
/// Rows that are fed between two kills.
const ROWS_BETWEEN: usize = ROWS / KILLS;
/// On a machine that stands still for a minute, a worker ends by itself where nobody leads the streams; nearly all must have been killed.
const KILLED_MIN: usize = KILLS * 9 / 10;

/// Every second one goes by a clock that jumps.
fn worker(setup: &Setup, number: usize) -> Running {
    let work = ["work", "--demo", "--batches", "2"];
    if number.is_multiple_of(2) { setup.running(&work) } else { setup.running_by_clock(&work, &clock(setup)) }
}

fn clock(setup: &Setup) -> PathBuf {
    setup.data.path().join("clock")
}

fn set_clock(setup: &Setup, moved_by: &str) {
    std::fs::write(clock(setup), moved_by).unwrap();
}

#[tokio::test]
async fn workers_are_killed_a_hundred_times_and_servers_with_them_and_every_request_has_one_end() {
    let mut servers = Server::cluster();
    let urls = servers.iter().map(|server| server.url.clone()).collect::<Vec<_>>().join(",");
    let setup = Setup::demo().with("TAXON_NATS_URL", &urls);
    let make = ["streams", "make", "--replicas", "3", "--ack-wait", "2"];
    within(Duration::from_secs(60), async || setup.output(&make).status.success()).await;
    let nats = Client::connect(&urls).await;

    set_clock(&setup, "+0");
    let mut workers: Vec<Running> = (0..WORKERS).map(|number| worker(&setup, number)).collect();
    let mut asked = BTreeSet::new();
    let mut killed = 0;
    for kill in 0..KILLS {
        asked.extend(nats.feed_rows(kill * ROWS_BETWEEN, ROWS_BETWEEN).await);
        if kill % 10 == 3 {
            // On purpose, and without an id that the stream would know them by.
            nats.feed_rows(kill * ROWS_BETWEEN, ROWS_BETWEEN).await;
            nats.publish("taxon.requests.feed", format!("poison {kill}").into_bytes()).await;
        }
        match kill {
            10 => set_clock(&setup, "+40d"),
            20 => servers[0].kill(),
            30 => servers[0].start_again(),
            35 => set_clock(&setup, "-40d"),
            40 => nats.move_leader("TAXON_RESULTS").await,
            45 => nats.move_leader("TAXON_REQUESTS").await,
            // The network between it and everybody goes silent.
            50 => servers[1].signal("STOP"),
            60 => servers[1].signal("CONT"),
            // A worker that sleeps for longer than its batches are held for it, and then goes on.
            65 => set_clock(&setup, "+90s"),
            70 => workers[1].signal("STOP"),
            80 => workers[1].signal("CONT"),
            _ => {}
        }
        let victim = if (70..=80).contains(&kill) { 0 } else { kill % WORKERS };
        let next = worker(&setup, victim);
        killed += usize::from(std::mem::replace(&mut workers[victim], next).kill_if_running());
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    within(Duration::from_secs(240), async || nats.count("TAXON_REQUESTS").await == 0).await;
    drop(workers);

    let drained = drain(&setup, &setup.data.path().join("drained"));
    let ids: BTreeSet<String> = drained.rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    let poisons = drained.dead.len();
    eprintln!(
        "{killed} kills, {} rows asked, {} results, {} of them apart, {poisons} dead letters",
        ROWS,
        drained.rows.len(),
        ids.len()
    );
    assert_eq!((drained.rows.len(), ids == asked), (ROWS, true));
    assert_eq!(poisons, KILLS / 10);
    assert!(killed >= KILLED_MIN, "{killed}");
}
