//! Promise: a takeover without the last commits loses the messages that were enqueued in them and no others,
//! and repeats no effect

use std::{sync::Arc, time::Duration};

use claimstream_testbed::{Cluster, ClusterKind, Forwarder, Keeps};

use super::{
    course::{Course, CourseResult, aside},
    faults::kept_all,
};
use crate::Suite;

/// Adds the takeover of a cluster of which one node takes writes.
pub(super) fn add_to(suite: &mut Suite, kind: ClusterKind) {
    let what = match kind.keeps {
        Keeps::EachCommit => "nothing_is_lost_and_no_effect_is_doubled_when_another_node_takes_over",
        Keeps::WhatWasReceived => "a_takeover_loses_what_it_lacked_and_nothing_else_and_doubles_no_effect",
    };
    suite.add_async_test(&format!("{}::clusters::{what}", kind.name), async move {
        let cluster = tokio::task::spawn_blocking(move || Cluster::start(kind)).await.expect("a cluster");
        taken_over(Arc::new(cluster)).await;
    });
}

/// Relays of every strategy behind one address; the node that takes writes is killed, and another one takes its place.
async fn taken_over(cluster: Arc<Cluster>) {
    let forwarder = Forwarder::to(cluster.url(1)).await.expect("a port");
    let places = vec![forwarder.url().to_owned(); 3];
    let course = Course::start(cluster.url(1), &places).await;
    course.until_all_work().await;

    match cluster.kind().keeps {
        Keeps::EachCommit => {
            course.fault();
            aside(|cluster| cluster.kill(1), &cluster).await;
        }
        Keeps::WhatWasReceived => {
            // The rest of the course is about what was lost after this.
            course.loses();
            cluster.catch_up().await.expect("the replica catches up");
            aside(Cluster::lose, &cluster).await;
            tokio::time::sleep(LOST).await;
            course.until_all_work().await;
            course.fault();
            aside(|cluster| cluster.kill(1), &cluster).await;
            cluster.promote().await.expect("the replica takes over");
        }
    }
    let writer = next_writer(&cluster).await;
    course.replaced();
    forwarder.lead_to(cluster.url(writer));
    course.until_all_work().await;
    if cluster.kind().keeps == Keeps::EachCommit {
        aside(|cluster| cluster.start_again(1), &cluster).await;
        course.until_all_work().await;
    }
    for result in course.finish(cluster.url(writer)).await {
        match cluster.kind().keeps {
            Keeps::EachCommit => kept_all(&result),
            Keeps::WhatWasReceived => lost_no_more(&result),
        }
    }
}

/// How long the replica receives nothing at least before its source dies.
const LOST: Duration = Duration::from_secs(2);

pub(super) async fn next_writer(cluster: &Cluster) -> usize {
    for _ in 0..300 {
        if let Some(writer) = cluster.writer().await {
            return writer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no node has taken over within half a minute");
}

/// Lost are messages that were enqueued while the replica received nothing; what was accepted in that time comes again, and no
/// effect that is there is there twice.
fn lost_no_more(result: &CourseResult) {
    let figures = &result.figures;
    assert!(figures.messages > 50, "{result}: too few for a test");
    assert!(figures.lost_with_the_source > 0, "{result}: the replica had everything");
    assert_eq!(
        (figures.lost, figures.doubled, figures.stuck),
        (figures.lost_with_the_source, 0, 0),
        "{result}"
    );
    assert_eq!(figures.accepted_twice, figures.accepted_and_forgotten, "{result}");
}
