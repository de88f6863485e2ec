//! Promise: RabbitMQ: a broker that is killed under load and starts again has lost nothing that it confirmed,
//! and the order of each key holds

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqPublisher};
use claimstream_testbed::PrivateBroker;

use super::{
    NAME,
    queues::{Queues, id_and_body},
};
use crate::load::{Findings, Load, more};

const KILLS: usize = 3;

pub(super) async fn a_broker_that_is_killed_under_load_loses_nothing_on_a_classic_queue(_url: String) {
    killed("classic").await;
}

pub(super) async fn a_broker_that_is_killed_under_load_loses_nothing_on_a_quorum_queue(_url: String) {
    killed("quorum").await;
}

async fn killed(kind: &str) {
    let broker = PrivateBroker::start(NAME);
    let url = broker.url().to_owned();
    let queues = Queues::at(&url).await;
    let queue = if kind == "quorum" { queues.quorum().await } else { queues.classic().await };
    drop(queues);
    // RabbitMQ 4.0 writes the name of a new quorum queue to its disk only after a moment, and a node that is killed before has an
    // empty queue of that name afterwards.
    tokio::time::sleep(Duration::from_secs(5)).await;

    let place = RabbitMqConfig::new(&url).unwrap().with_timeout(Duration::from_secs(5));
    let publisher = RabbitMqPublisher::new(place);
    let mut load = Load::on(&publisher, &queue, 50);
    let (ended, mut progress) = (AtomicBool::new(false), load.progress());
    let publish = async {
        while !ended.load(Ordering::Relaxed) {
            load.call().await;
        }
        load.finish().await;
        load
    };
    let kill = async {
        for _ in 0..KILLS {
            more(&mut progress, 1_000).await;
            broker.kill_and_restart().await;
        }
        more(&mut progress, 1_000).await;
        ended.store(true, Ordering::Relaxed);
    };
    let (load, ()) = tokio::join!(publish, kill);

    let read = Queues::at(&url).await.drain(&queue, load.published.len()).await;
    let read: Vec<_> = read.iter().map(id_and_body).collect();
    let findings = Findings::of(&load.published, &read);
    eprintln!(
        "rabbitmq, {kind} queue, {KILLS} kills: {} confirmed, {} sent again, {findings}",
        load.published.len(),
        load.unconfirmed
    );
    assert!(load.unconfirmed > 0, "no kill met a call");
    assert_eq!((findings.lost, findings.out_of_order), (0, 0));
}
