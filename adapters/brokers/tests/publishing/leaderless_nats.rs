//! A NATS that answers to no publication and to no question, as a cluster that has just lost its leaders.

use std::{
    io,
    time::{Duration, Instant},
};

use claimstream_brokers::nats::{NatsPlace, NatsPublisher};
use claimstream_ports::Publish;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

use crate::publication::{doubt, publication};

/// Serves one client: nothing answers at any subject, and JetStream says nothing.
async fn serve(listener: TcpListener) -> io::Result<()> {
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

#[tokio::test]
async fn a_call_ends_in_time_while_neither_streams_nor_jetstream_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = NatsPlace::new(&format!("nats://{}", listener.local_addr().unwrap())).unwrap();
    let serving = tokio::spawn(serve(listener));
    let publications: Vec<_> = (0..3).map(|n| publication(&format!("orders.{n}"), None, n)).collect();
    let began = Instant::now();
    let answers = NatsPublisher::new(place).publish(&publications).await;
    let took = began.elapsed();
    serving.abort();
    for answer in &answers {
        assert!(doubt(answer).contains("nothing answers at orders."), "{answer:?}");
    }
    assert!(took < NatsPublisher::PATIENCE + Duration::from_secs(3), "{took:?}");
}
