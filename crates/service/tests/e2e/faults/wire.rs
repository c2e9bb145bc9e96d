//! What can be done to an answer on its way that no polite server would do.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::node::MARKER;

/// Longer than any caller waits.
const FOREVER: Duration = Duration::from_secs(120);
const DRIP: Duration = Duration::from_millis(500);
const SLOW: Duration = Duration::from_millis(800);
const BOMB_BYTES: usize = 1024 * 1024 * 1024;
const BLOCK_BYTES: usize = 1024 * 1024;
const HEADERS: usize = 1_000_000;
const HEADER_LINE_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Reset,
    ResetInBody,
    Silence,
    Stall,
    Drip,
    Slow,
    Tls,
    ChunkedBrokenOff,
    LengthTooLong,
    HeaderFlood,
    HeaderLine,
    NotUtf8,
    GzipBomb,
    GzipOfNothing,
    Endless,
    /// Only requests that hold this method; others are answered.
    SilenceTo(&'static str),
    EndlessTo(&'static str),
}

/// A whole response: the status line's end, further header lines, and the body.
pub fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = head(status, &format!("content-length: {}\r\n{headers}", body.len()));
    bytes.extend_from_slice(body);
    bytes
}

fn head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}\r\n").into_bytes()
}

/// An error ends the connection.
pub async fn misbehave(how: Wire, socket: &mut TcpStream, honest: &str, methods: &[&str]) -> io::Result<()> {
    let whole = response("200 OK", "", honest.as_bytes());
    let half = whole.len() - honest.len() / 2;
    match how {
        Wire::Reset => reset(socket),
        Wire::ResetInBody => {
            socket.write_all(&whole[..half]).await?;
            // What is written must leave before the reset overtakes it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            reset(socket)
        }
        Wire::Silence => forever().await,
        Wire::Stall => {
            socket.write_all(&whole[..half]).await?;
            forever().await
        }
        Wire::Drip => {
            for byte in whole.chunks(1) {
                socket.write_all(byte).await?;
                tokio::time::sleep(DRIP).await;
            }
            Ok(())
        }
        Wire::Slow => {
            tokio::time::sleep(SLOW).await;
            socket.write_all(&whole).await
        }
        Wire::Tls => {
            // A handshake failure, as a TLS server answers whoever speaks plain HTTP to it.
            socket.write_all(&[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x28]).await?;
            closed()
        }
        Wire::ChunkedBrokenOff => {
            let mut bytes = head("200 OK", "transfer-encoding: chunked\r\n");
            bytes.extend_from_slice(format!("{:x}\r\n", honest.len()).as_bytes());
            bytes.extend_from_slice(&honest.as_bytes()[..honest.len() / 2]);
            socket.write_all(&bytes).await?;
            closed()
        }
        Wire::LengthTooLong => {
            let mut bytes = head("200 OK", &format!("content-length: {}\r\n", honest.len() + 1000));
            bytes.extend_from_slice(honest.as_bytes());
            socket.write_all(&bytes).await?;
            closed()
        }
        Wire::HeaderFlood => {
            socket.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            let line = format!("x-flood: {MARKER}\r\n").repeat(1000);
            for _ in 0..HEADERS / 1000 {
                socket.write_all(line.as_bytes()).await?;
            }
            closed()
        }
        Wire::HeaderLine => {
            socket.write_all(b"HTTP/1.1 200 OK\r\nx-long: ").await?;
            let part = vec![b'x'; 64 * 1024];
            for _ in 0..HEADER_LINE_BYTES / part.len() {
                socket.write_all(&part).await?;
            }
            closed()
        }
        Wire::NotUtf8 => {
            let mut body = honest.as_bytes().to_vec();
            let middle = body.len() / 2;
            body[middle] = 0xff;
            socket.write_all(&response("200 OK", "", &body)).await
        }
        Wire::GzipBomb => {
            let bomb = bomb();
            socket.write_all(&response("200 OK", "content-encoding: gzip\r\n", bomb)).await
        }
        Wire::GzipOfNothing => {
            socket.write_all(&response("200 OK", "content-encoding: gzip\r\n", honest.as_bytes())).await
        }
        Wire::Endless => endless(socket).await,
        Wire::SilenceTo(method) if methods.contains(&method) => forever().await,
        Wire::EndlessTo(method) if methods.contains(&method) => endless(socket).await,
        Wire::SilenceTo(_) | Wire::EndlessTo(_) => socket.write_all(&whole).await,
    }
}

/// Closing with nothing left to linger for is a reset instead of a farewell.
fn reset(socket: &TcpStream) -> io::Result<()> {
    socket.set_zero_linger()?;
    closed()
}

fn closed() -> io::Result<()> {
    Err(io::ErrorKind::ConnectionAborted.into())
}

async fn forever() -> io::Result<()> {
    tokio::time::sleep(FOREVER).await;
    closed()
}

/// A result that never ends, as fast as it is taken.
async fn endless(socket: &mut TcpStream) -> io::Result<()> {
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    socket.write_all(&head("200 OK", "transfer-encoding: chunked\r\n")).await?;
    socket.write_all(chunk("[{\"id\":0,\"result\":\"0x").as_bytes()).await?;
    let zeros = chunk(&"0".repeat(64 * 1024));
    loop {
        socket.write_all(zeros.as_bytes()).await?;
    }
}

/// A gibibyte of blanks in a mebibyte: one block of blanks, said again and again. Its end is never read.
fn bomb() -> &'static [u8] {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    BOMB.get_or_init(|| {
        let blanks = vec![b' '; BLOCK_BYTES];
        let mut compress = Compress::new(Compression::best(), false);
        let mut block = || {
            let mut out = Vec::with_capacity(BLOCK_BYTES);
            compress.compress_vec(&blanks, &mut out, FlushCompress::Sync).unwrap();
            out
        };
        let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        bytes.extend(block());
        let again = block();
        for _ in 1..BOMB_BYTES / BLOCK_BYTES {
            bytes.extend_from_slice(&again);
        }
        bytes
    })
}
