//! A NATS that answers to no publication and to no question, as a cluster that has just lost its leaders.
//! Promise: NATS: a call ends in time while neither streams nor JetStream answer

use std::{io, sync::Arc};

use claimstream_brokers::nats::{NatsConfig, NatsPublisher};
use claimstream_ports::{Publish, Timer, mock::HandTimer};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    sync::Notify,
};

use crate::publication::{doubt, publication};

/// Serves one client: nothing answers at any subject, and JetStream says nothing. It notifies when JetStream was asked and the client has
/// everything that was said before.
async fn serve(listener: TcpListener, asked: Arc<Notify>) -> io::Result<()> {
    let (client, _) = listener.accept().await?;
    let mut client = BufReader::new(client);
    let info = r#"INFO {"server_id":"S","version":"2.10.0","headers":true,"max_payload":1048576}"#;
    client.write_all(format!("{info}\r\n").as_bytes()).await?;
    let (mut line, mut subscription) = (String::new(), String::new());
    while client.read_line(&mut line).await? > 0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["HPUB" | "PUB", .., bytes] = words[..] {
            let mut rest = vec![0; bytes.parse::<usize>().map_err(io::Error::other)? + 2];
            client.read_exact(&mut rest).await?;
        }
        let answer = match words[..] {
            ["PING"] => "PONG\r\n".to_owned(),
            ["PUB", subject, ..] if subject.starts_with("$JS.API") => "PING\r\n".to_owned(),
            ["PONG"] => {
                asked.notify_one();
                String::new()
            }
            ["HPUB", _, reply, ..] => {
                format!("HMSG {reply} {subscription} 16 16\r\nNATS/1.0 503\r\n\r\n\r\n")
            }
            ["SUB", _, id] => {
                id.clone_into(&mut subscription);
                String::new()
            }
            _ => String::new(),
        };
        client.write_all(answer.as_bytes()).await?;
        line.clear();
    }
    Ok(())
}

/// Guard: a call waits for JetStream no longer than its deadline | src/nats/publisher.rs: `without_stream` of
/// a call: no deadline
#[tokio::test]
async fn a_call_ends_in_time_while_neither_streams_nor_jetstream_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = NatsConfig::new(&format!("nats://{}", listener.local_addr().unwrap())).unwrap();
    let (timer, asked) = (HandTimer::default(), Arc::new(Notify::new()));
    let place = place.with_timer(Arc::new(timer.clone()));
    let serving = tokio::spawn(serve(listener, Arc::clone(&asked)));
    let publications: Vec<_> = (0..3).map(|n| publication(&format!("orders.{n}"), None, n)).collect();
    let publisher = NatsPublisher::new(place);
    let time_runs_out = async {
        asked.notified().await;
        timer.advance(NatsPublisher::TIMEOUT);
    };
    let (answers, ()) = tokio::join!(publisher.publish(&publications), time_runs_out);
    serving.abort();
    for answer in &answers {
        assert!(doubt(answer).contains("nothing answers at orders."), "{answer:?}");
    }
    assert_eq!(timer.now(), NatsPublisher::TIMEOUT, "one round for all");
}
