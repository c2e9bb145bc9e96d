//! Connections that are held open without a request: they cost little, keep nobody out, and are closed.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::harness::{Setup, Taxon, read};

const HALF_OPEN: u16 = 1_000;
/// The service's own limits, as the documentation tells them.
const PER_ADDRESS_MAX: usize = 256;
const HEAD_SECONDS: u64 = 10;
/// Before any timeout.
const AT_ONCE: Duration = Duration::from_secs(3);
const MEMORY_KIB_MAX: u64 = 40 * 1024;

/// From an address of the loopback network.
async fn connect(taxon: &Taxon, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let address = taxon.url.strip_prefix("http://").unwrap().parse().unwrap();
    socket.connect(address).await.unwrap()
}

async fn half_open(taxon: &Taxon, from: impl Fn([u8; 2]) -> [u8; 4]) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for number in 0..HALF_OPEN {
        let mut stream = connect(taxon, from(number.to_be_bytes())).await;
        // Whoever has no place finds the connection closed.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n").await;
        held.push(stream);
    }
    held
}

async fn is_healthy(taxon: &Taxon, from: [u8; 4]) -> bool {
    let asked = async {
        let mut stream = connect(taxon, from).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok")
    };
    tokio::time::timeout(Duration::from_secs(2), asked).await.unwrap_or_default()
}

/// How many the service has not closed.
fn open(held: &[TcpStream]) -> usize {
    let is_open = |stream: &&TcpStream| matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
    held.iter().filter(is_open).count()
}

/// Whether at most so many are open, now or within the time.
async fn at_most_open(held: &[TcpStream], most: usize, within: Duration) -> bool {
    let until = Instant::now() + within;
    while open(held) > most && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    open(held) <= most
}

async fn all_closed(held: &[TcpStream]) -> bool {
    at_most_open(held, 0, Duration::from_secs(2 * HEAD_SECONDS)).await
}

fn memory_kib(taxon: &Taxon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", taxon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn one_address_with_a_thousand_half_open_connections_keeps_nobody_out() {
    let taxon = Setup::demo().start().await;
    let before = memory_kib(&taxon);
    let held = half_open(&taxon, |_| [127, 0, 0, 9]).await;
    assert!(is_healthy(&taxon, [127, 0, 0, 1]).await);
    assert!(at_most_open(&held, PER_ADDRESS_MAX, AT_ONCE).await, "{}", open(&held));
    let grown = memory_kib(&taxon).saturating_sub(before);
    assert!(grown < MEMORY_KIB_MAX, "{grown} KiB");
    assert!(all_closed(&held).await);
    assert!(is_healthy(&taxon, [127, 0, 0, 9]).await, "the address has its places back");
}

#[tokio::test]
async fn many_addresses_with_half_open_connections_keep_nobody_out() {
    let taxon = Setup::demo().start().await;
    let before = memory_kib(&taxon);
    let held = half_open(&taxon, |[high, low]| [127, 1, high, low.saturating_add(1)]).await;
    assert!(is_healthy(&taxon, [127, 0, 0, 1]).await);
    let grown = memory_kib(&taxon).saturating_sub(before);
    assert!(grown < MEMORY_KIB_MAX, "{grown} KiB");
    assert!(all_closed(&held).await);
}

#[tokio::test]
async fn few_descriptors_are_enough() {
    let taxon = Setup::demo().around("ulimit -n 256; exec \"$@\"").start().await;
    let held = half_open(&taxon, |[high, low]| [127, 2, high, low.saturating_add(1)]).await;
    assert!(is_healthy(&taxon, [127, 0, 0, 1]).await);
    assert!(at_most_open(&held, 128, AT_ONCE).await, "half of the descriptors: {}", open(&held));
    assert_eq!(taxon.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn a_trusted_proxy_may_hold_many() {
    let taxon = Setup::demo().with("TAXON_TRUSTED_PROXIES", "127.0.0.9").start().await;
    let held = half_open(&taxon, |_| [127, 0, 0, 9]).await;
    assert!(is_healthy(&taxon, [127, 0, 0, 9]).await);
    assert!(open(&held) > PER_ADDRESS_MAX, "{}", open(&held));
}

#[tokio::test]
async fn too_many_headers_are_refused_in_the_envelope() {
    let taxon = Setup::demo().start().await;
    let mut request = taxon.raw(reqwest::Method::GET, "/healthz");
    for number in 0..150 {
        request = request.header(format!("x-{number}"), "a");
    }
    let answer = read(request.send().await.unwrap()).await;
    assert_eq!((answer.status, answer.code()), (400, "invalid_request"));
    assert!(answer.headers.contains_key("x-request-id"));
}
