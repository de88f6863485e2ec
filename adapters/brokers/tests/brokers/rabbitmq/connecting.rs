//! Attempts to connect to a broker that is silent, resets or is away.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use claimstream_brokers::rabbitmq::RabbitMqPublisher;
use claimstream_ports::{Publish, mock::HandTimer};
use claimstream_testbed::eventually;
use futures::{
    FutureExt,
    future::{join, join_all},
};
use tokio::{
    io::{AsyncReadExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use super::{place, place_by, publishing::why, time_runs_out};
use crate::load::{numbered, publication};

/// The client goes on to wait for such a peer when its caller has given up, and keeps a connection and a thread for that.
/// Guard: after an attempt to connect that got no answer, the peer must speak first | src/rabbitmq/config.rs
/// `connect`: no look at `was_silent`
pub(super) async fn a_peer_that_says_nothing_holds_up_no_call_and_costs_a_connection_once(url: String) {
    const CALLS: usize = 8;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = silent.local_addr().unwrap();
    let timer = HandTimer::default();
    let place = place_by(&timer, &format!("amqp://guest:guest@{at}"));
    let publisher = RabbitMqPublisher::new(place.clone());
    let mut held = Vec::new();
    for is_cancelled in [false, true, false] {
        let calls = join_all((0..CALLS).map(|_| publisher.reach()));
        let all_have_connected = join_all((0..CALLS).map(|_| async { silent.accept().await.unwrap().0 }));
        let peers = match is_cancelled {
            true => tokio::select! {
                _ = calls => panic!("nothing has ended the calls"),
                peers = all_have_connected => peers,
            },
            false => {
                // One after the other, eight calls would need it to run out eight times.
                let time_passes = async {
                    let peers = all_have_connected.await;
                    time_runs_out(&timer).await;
                    peers
                };
                let (reached, peers) = join(calls, time_passes).await;
                assert!(reached.iter().all(Result::is_err));
                peers
            }
        };
        held.extend(peers);
    }
    for peer in &mut held[CALLS..] {
        let _ = peer.read_to_end(&mut Vec::new()).await;
    }
    for peer in &mut held[..CALLS] {
        assert!(peer.read_to_end(&mut Vec::new()).now_or_never().is_none(), "the client keeps it");
    }
    // The next call finds a broker there.
    let broker = url.rsplit('@').next().unwrap().to_owned();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = silent.accept().await {
            let mut server = TcpStream::connect(&broker).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    assert!(RabbitMqPublisher::new(place).reach().await.is_ok());
}

/// As a TLS server does to a plain greeting.
/// Guard: a peer that resets a greeting is tried all the same | src/rabbitmq/config.rs `connect`: returns an
/// error of `greet`
pub(super) async fn a_peer_that_resets_a_greeting_is_tried_all_the_same(_url: String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqp://guest:guest@{}", listener.local_addr().unwrap());
    let timer = HandTimer::default();
    let publisher = RabbitMqPublisher::new(place_by(&timer, &url));
    let time_passes = async {
        let silent = listener.accept().await;
        time_runs_out(&timer).await;
        silent
    };
    let (silent, _) = tokio::join!(time_passes, publisher.reach());
    let taken = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&taken);
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            count.fetch_add(1, Relaxed);
            // It is reset, because most of the greeting was not read.
            let _ = peer.read(&mut [0]).await;
        }
    });
    assert!(publisher.reach().await.is_err());
    eventually("it is tried", async || taken.load(Relaxed) == 2).await;
    drop(silent);
}

pub(super) async fn a_server_that_is_away_leaves_everything_unconfirmed(_url: String) {
    let publisher = RabbitMqPublisher::new(place("amqp://app:hunter2@127.0.0.1:1"));
    let answers = publisher.publish(&[publication("q", "x"), numbered("q", 1), numbered("q", 1)]).await;
    assert_eq!(answers.len(), 3);
    for answer in &answers {
        assert!(why(answer).starts_with("unsent: cannot connect to amqp://127.0.0.1:1/: "), "{answer:?}");
        assert!(!why(answer).contains("hunter2"), "{answer:?}");
    }
}
