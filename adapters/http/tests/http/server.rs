//! Promise: a client that never reads its answers loses its connection, an endless head uses 32 KiB at most,
//! and a stopped server finishes what it accepted, for a bounded time

use std::{net::SocketAddr, sync::Arc, time::Duration};

use claimstream_http::{Drained, Limits, Server, Service};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::{JoinHandle, yield_now},
};

use crate::api::{Ports, Shelf, body, timer, tokens};

/// A server on a socket of this machine.
struct Served {
    address: SocketAddr,
    intake: Arc<Shelf>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Drained>,
}

async fn serve(limits: Limits) -> Served {
    let ports = Ports::default();
    let intake = Arc::clone(&ports.intake);
    let service = Service::new(ports.stores(), timer(), tokens(), limits);
    let server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0)), timer()).await.unwrap();
    let address = server.address().unwrap();
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(server.run_until(service, async {
        let _ = stopped.await;
    }));
    Served { address, intake, stop, ended }
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

fn post(key: &str) -> String {
    let body = body().to_string();
    format!(
        "POST /v1/notifications HTTP/1.1\r\nhost: x\r\nauthorization: Bearer send\r\nidempotency-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 4_096];
    let read = stream.read(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}

#[tokio::test]
async fn a_connection_carries_many_requests() {
    let served = serve(Limits::default()).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    for key in ["1", "2", "1"] {
        stream.write_all(post(key).as_bytes()).await.unwrap();
        let answer = read(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
    assert_eq!(served.intake.kept.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn the_signal_lets_what_was_accepted_finish_and_refuses_new_connections() {
    let served = serve(Limits::default()).await;
    let closed = served.intake.gate.lock().await;
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    idle.write_all(HEALTH).await.unwrap();
    assert!(read(&mut idle).await.starts_with("HTTP/1.1 200"));
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(post("1").as_bytes()).await.unwrap();
    served.intake.begun(1).await;
    served.stop.send(()).unwrap();
    assert_eq!(read(&mut idle).await, "", "an idle connection is closed");
    while TcpStream::connect(served.address).await.is_ok() {
        yield_now().await;
    }
    assert!(!served.ended.is_finished(), "it waits for the transaction");
    drop(closed);
    let answer = read(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(served.ended.await.unwrap(), Drained::Wholly);
}

#[tokio::test]
async fn a_connection_that_sends_half_a_request_does_not_hold_the_server_up() {
    let served = serve(Limits { drain: Duration::from_millis(100), ..Limits::default() }).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let text = post("1").replacen("\r\n", "\r\nexpect: 100-continue\r\n", 1);
    stream.write_all(&text.as_bytes()[..text.len() - 1]).await.unwrap();
    let goes_on = read(&mut stream).await;
    assert!(goes_on.starts_with("HTTP/1.1 100"), "the server waits for the body: {goes_on}");
    served.stop.send(()).unwrap();
    assert_eq!(served.ended.await.unwrap(), Drained::Partly);
    assert!(served.intake.kept.lock().unwrap().is_empty());
}

/// Guard: the head of a request is bounded | src/server.rs: no `max_buf_size`
#[tokio::test]
async fn a_head_without_an_end_is_kept_in_part_alone() {
    let served = serve(Limits::default()).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = format!("GET / HTTP/1.1\r\nx: {}", "a".repeat(64 * 1024));
    let _ = stream.write_all(head.as_bytes()).await;
    // It never ends if the server waits for more.
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let served = serve(Limits { idle: Duration::from_millis(100), ..Limits::default() }).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x").await.unwrap();
    let rest = read(&mut stream).await;
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408"), "{rest}");
    // A machine that stops meanwhile may have made the first of them idle for too long.
    let mut stream = loop {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let _ = stream.write_all(HEALTH).await;
        let mut bytes = [0; 4_096];
        let read = stream.read(&mut bytes).await.unwrap_or(0);
        if bytes[..read].starts_with(b"HTTP/1.1 200") {
            break stream;
        }
    };
    assert_eq!(read(&mut stream).await, "");
}

/// Guard: a client that does not read its answers is disconnected | src/stalling.rs `within`: waits on
#[tokio::test]
async fn a_client_that_never_reads_its_answers_is_left_after_a_while() {
    let limits = Limits { connections: 1, timeout: Duration::from_millis(300), ..Limits::default() };
    let served = serve(limits).await;
    let mut deaf = TcpStream::connect(served.address).await.unwrap();
    let asking = tokio::spawn(async move {
        // Written on and on until the answers fill all buffers and then the questions do, or the server has gone.
        while deaf.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n").await.is_ok() {}
    });
    asking.await.unwrap();
    let mut next = TcpStream::connect(served.address).await.unwrap();
    next.write_all(HEALTH).await.unwrap();
    assert!(read(&mut next).await.starts_with("HTTP/1.1 200"), "its place is free");
}

#[tokio::test]
async fn more_connections_than_the_limit_wait() {
    let served = serve(Limits { connections: 1, ..Limits::default() }).await;
    let mut first = TcpStream::connect(served.address).await.unwrap();
    first.write_all(post("1").as_bytes()).await.unwrap();
    assert!(read(&mut first).await.starts_with("HTTP/1.1 201"));
    let mut second = TcpStream::connect(served.address).await.unwrap();
    second.write_all(post("2").as_bytes()).await.unwrap();
    // A second place would have let the other connection have its turn among so many calls.
    for _ in 0..50 {
        first.write_all(HEALTH).await.unwrap();
        assert!(read(&mut first).await.starts_with("HTTP/1.1 200"));
    }
    assert_eq!(served.intake.kept.lock().unwrap().len(), 1);
    drop(first);
    assert!(read(&mut second).await.starts_with("HTTP/1.1 201"));
}
