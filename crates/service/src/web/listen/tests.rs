//! With short timeouts, over real sockets.

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(60);
const NEVER: Timeouts = Timeouts { head: LONG, body: LONG, idle: LONG, stalled: LONG };

async fn start(places: Places, timeouts: Timeouts) -> SocketAddr {
    let read = |body: Body| async move {
        match axum::body::to_bytes(body, 1_000).await {
            Ok(_) => "whole",
            Err(_) => "broke off",
        }
    };
    let router = Router::new()
        .route("/", get(|| async { "here" }))
        .route("/read", post(read))
        .route("/large", get(|| async { vec![b'x'; 64 * 1024 * 1024] }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, router, Arc::new(places), timeouts, CancellationToken::new()));
    address
}

fn roomy() -> Places {
    Places::bounded(100, 100, Vec::new())
}

async fn sent(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What comes until the service closes; a reset is an end too.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await.expect("it is closed");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 1_024];
    let length = stream.read(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

#[tokio::test]
async fn a_head_that_does_not_end_is_closed() {
    let address = start(roomy(), Timeouts { head: SHORT, ..NEVER }).await;
    for half in ["", "GET / HTTP/1.1\r\nhost: a\r\n"] {
        assert_eq!(rest(&mut sent(address, half).await).await, "");
    }
    let mut second = sent(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(answer(&mut second).await.ends_with("here"));
    tokio::time::sleep(2 * SHORT).await;
    second.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(
        answer(&mut second).await.ends_with("here"),
        "between two requests a connection has the time of an idle one"
    );
    second.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    assert_eq!(rest(&mut second).await, "");
}

#[tokio::test]
async fn bytes_that_trickle_in_win_no_time() {
    let address = start(roomy(), Timeouts { head: SHORT, ..NEVER }).await;
    let mut stream = sent(address, "GET / HTTP/1.1\r\n").await;
    let began = std::time::Instant::now();
    while stream.write_all(b"a").await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(10), "it is closed");
        tokio::time::sleep(SHORT / 5).await;
    }
}

#[tokio::test]
async fn a_connection_that_stays_idle_is_closed() {
    let address = start(roomy(), Timeouts { idle: SHORT, ..NEVER }).await;
    let mut stream = sent(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(answer(&mut stream).await.ends_with("here"));
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_body_that_does_not_end_is_answered() {
    let address = start(roomy(), Timeouts { body: SHORT, ..NEVER }).await;
    let mut stream = sent(address, "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf").await;
    assert!(rest(&mut stream).await.ends_with("broke off"));
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_closed() {
    let places = Arc::new(roomy());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/", get(|| async { vec![b'x'; 64 * 1024 * 1024] }));
    let timeouts = Timeouts { stalled: SHORT, ..NEVER };
    tokio::spawn(serve(listener, router, Arc::clone(&places), timeouts, CancellationToken::new()));
    let _stream = sent(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    tokio::time::sleep(SHORT / 3).await;
    assert_eq!(places.count(), 1);
    for _ in 0..100 {
        if places.count() == 0 {
            return;
        }
        tokio::time::sleep(SHORT).await;
    }
    panic!("it is still open");
}

#[tokio::test]
async fn what_hyper_refuses_is_refused_soon_and_in_the_envelope() {
    let address = start(roomy(), NEVER).await;
    let long = format!("GET / HTTP/1.1\r\nhost: a\r\nlong: {}", "x".repeat(BUFFER_BYTES_MAX));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_READ_MAX + 1));
    let doubled = "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
    for (request, status) in [(long.as_str(), 431), (&many, 431), (doubled, 400), ("HELO there\r\n\r\n", 400)] {
        let said = rest(&mut sent(address, request).await).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("\r\nx-request-id: ") && head.contains("\r\ncache-control: no-store\r\n"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{said}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"]["code"], "invalid_request", "{said}");
    }
}

#[tokio::test]
async fn whoever_sends_a_request_is_served_though_all_places_are_taken() {
    let address = start(Places::bounded(3, 100, Vec::new()), NEVER).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(sent(address, "GET / HTTP/1.1\r\n").await);
    }
    let mut served = sent(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(answer(&mut served).await.ends_with("here"));
    assert_eq!(rest(&mut held[0]).await, "", "the one that has waited longest gave way");
    held[1].write_all(b"host: a\r\n\r\n").await.unwrap();
    assert!(answer(&mut held[1]).await.ends_with("here"), "the others are open");
}

#[test]
fn one_address_takes_no_more_than_its_share() {
    let places = Arc::new(Places::bounded(100, 2, vec!["10.0.0.0/8".parse().unwrap()]));
    let take = |address: &str| places.take(address.parse().unwrap());
    let held = [take("192.0.2.1"), take("::ffff:192.0.2.1")];
    assert!(held.iter().all(Option::is_some) && take("192.0.2.1").is_none(), "a mapped address is the same one");
    assert!(take("192.0.2.2").is_some());
    let network = [take("2001:db8::1"), take("2001:db8::2:0:0:1")];
    assert!(network.iter().all(Option::is_some) && take("2001:db8::3").is_none(), "an IPv6 caller owns a /64");
    let proxied: Vec<_> = (0..10).map(|_| take("10.0.0.1")).collect();
    assert!(proxied.iter().all(Option::is_some), "a trusted proxy carries everybody");
    drop(held);
    assert!(take("192.0.2.1").is_some(), "places are given back");
}

#[test]
fn connections_at_work_are_not_evicted() {
    let places = Arc::new(Places::bounded(2, 100, Vec::new()));
    let take = || places.take("192.0.2.1".parse().unwrap());
    let (first, second) = (take().unwrap(), take().unwrap());
    let at_work = [InFlight::begin(Arc::clone(&first)), InFlight::begin(Arc::clone(&second))];
    assert!(take().is_none(), "all are at work");
    drop(at_work);
    let third = take().unwrap();
    assert_eq!([first, second, Arc::clone(&third)].map(|place| place.is_evicted()), [true, false, false]);
    assert_eq!(places.count(), 1, "the second and the evicted one are gone");
    drop(third);
    assert_eq!(places.count(), 0);
}
