//! What a wire does with the two ends of a connection.

use std::pin::pin;

use claimstream_suite::fixture::Wire;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::yield_now,
};

const PING: &[u8] = &[1, 0, 0, 0, 0x0e];

/// A wire, the client's end of a connection over it, and the server's.
async fn connected() -> (Wire, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = listener.local_addr().expect("an address");
    let wire = Wire::to(&format!("mysql://user@{server}/shop")).await.expect("a port");
    let address = wire.url.trim_start_matches("mysql://user@").trim_end_matches("/shop");
    let client = TcpStream::connect(address).await.expect("a connection");
    let (server, _) = listener.accept().await.expect("a connection");
    (wire, client, server)
}

/// Requires that nothing comes out of this end, no close either, however often the wire gets its turn.
async fn stays_silent(end: &mut TcpStream) {
    let mut byte = [0];
    let mut read = pin!(end.read(&mut byte));
    for _ in 0..10_000 {
        assert!(futures::poll!(&mut read).is_pending());
        yield_now().await;
    }
}

/// Reads one byte; `None` if the other side has closed.
async fn next(end: &mut TcpStream) -> Option<u8> {
    end.read_u8().await.ok()
}

#[tokio::test]
async fn it_passes_everything_on_with_the_close() {
    let (_wire, mut client, mut server) = connected().await;
    client.write_all(b"?").await.expect("a request");
    assert_eq!(next(&mut server).await, Some(b'?'));
    server.write_all(b"!").await.expect("an answer");
    assert_eq!(next(&mut client).await, Some(b'!'));
    drop(server);
    assert_eq!(next(&mut client).await, None);
}

#[tokio::test]
async fn while_it_swallows_the_client_sees_neither_an_answer_nor_the_close_of_the_server() {
    let (wire, mut client, mut server) = connected().await;
    wire.swallow();
    client.write_all(b"?").await.expect("it takes what it is sent");
    stays_silent(&mut server).await;
    server.write_all(b"!").await.expect("an answer");
    stays_silent(&mut client).await;
    drop(server);
    stays_silent(&mut client).await;
    client.write_all(b"?").await.expect("it takes what it is sent");
    stays_silent(&mut client).await;
    drop(wire);
    assert_eq!(next(&mut client).await, None);
}

#[tokio::test]
async fn while_it_swallows_the_server_does_not_see_the_close_of_the_client() {
    let (wire, client, mut server) = connected().await;
    wire.swallow();
    drop(client);
    stays_silent(&mut server).await;
    drop(wire);
    assert_eq!(next(&mut server).await, None);
}

#[tokio::test]
async fn a_connection_that_is_cut_at_a_ping_passes_on_what_came_before_and_no_close() {
    let (wire, mut client, mut server) = connected().await;
    wire.swallow_from_ping();
    client.write_all(b"?").await.expect("a request");
    assert_eq!(next(&mut server).await, Some(b'?'));
    client.write_all(PING).await.expect("a ping");
    stays_silent(&mut server).await;
    drop(server);
    stays_silent(&mut client).await;
}
