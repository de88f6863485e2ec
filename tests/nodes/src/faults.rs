//! Promise: on a Galera cluster nothing is lost and no effect happens twice while nodes are killed, paused,
//! cut off, brought back and restarted in turn; on Group Replication while another node takes over

use std::{sync::Arc, time::Duration};

use claimstream_testbed::{Cluster, ClusterKind};

use super::course::{Course, CourseResult, aside};
use crate::Suite;

/// Adds the faults of a cluster whose nodes all take writes.
pub(super) fn add_to(suite: &mut Suite, kind: ClusterKind) {
    let name = format!(
        "{}::clusters::nothing_is_lost_and_no_effect_is_doubled_whatever_happens_to_nodes",
        kind.name
    );
    suite.add_async_test(&name, async move {
        let cluster = tokio::task::spawn_blocking(move || Cluster::start(kind)).await.expect("a cluster");
        nothing_is_lost(Arc::new(cluster)).await;
    });
}

/// Relays of every strategy on each node, and one node after the other has a fault, the others being well.
async fn nothing_is_lost(cluster: Arc<Cluster>) {
    let places: Vec<String> = (1..=cluster.nodes()).map(|node| cluster.url(node).to_owned()).collect();
    let course = Course::start(cluster.url(1), &places).await;
    course.until_all_work().await;

    course.fault();
    aside(|cluster| cluster.kill(2), &cluster).await;
    course.until_all_work().await;
    aside(|cluster| cluster.start_again(2), &cluster).await;
    course.until_all_work().await;

    course.fault();
    aside(|cluster| cluster.pause(3), &cluster).await;
    tokio::time::sleep(PAUSE).await;
    aside(|cluster| cluster.resume(3), &cluster).await;
    course.until_all_work().await;

    if cluster.kind().name.starts_with("galera") {
        course.fault();
        cluster.cut_off(1).await.expect("cut off");
        tokio::time::sleep(PAUSE).await;
        cluster.reconnect(1).await.expect("reconnected");
        course.until_all_work().await;
    }

    for node in 1..=cluster.nodes() {
        course.fault();
        aside(move |cluster| cluster.stop(node), &cluster).await;
        aside(move |cluster| cluster.start_again(node), &cluster).await;
        course.until_all_work().await;
    }

    for result in course.finish(cluster.url(1)).await {
        kept_all(&result);
    }
}

/// Longer than the others take to give a silent node up.
const PAUSE: Duration = Duration::from_secs(6);

/// Every message had its effect, once.
pub(super) fn kept_all(result: &CourseResult) {
    let figures = &result.figures;
    assert!(figures.messages > 100, "{result}: too few for a test");
    assert_eq!(
        (figures.lost, figures.doubled, figures.accepted_twice, figures.stuck),
        (0, 0, 0, 0),
        "{result}"
    );
    assert_eq!(figures.delivered, figures.messages, "{result}");
}
