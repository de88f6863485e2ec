//! Promise: whatever happens to the nodes of a cluster, every saga ends whole or not at all, the branches of
//! every TCC transaction end alike, and a timer continues without a repeat

use std::{sync::Arc, time::Duration};

use claimstream_testbed::{Cluster, ClusterKind, Forwarder, Writers, flows::Flows};

use super::{course::aside, takeover::next_writer};
use crate::Suite;

/// Adds what becomes of sagas, global transactions and timers whatever happens to the nodes of a cluster that keeps each commit.
pub(super) fn add_to(suite: &mut Suite, kind: ClusterKind) {
    let name = format!(
        "{}::clusters::every_saga_and_tcc_transaction_ends_whole_or_not_at_all_and_timers_go_on_whatever_happens_to_nodes",
        kind.name
    );
    suite.add_async_test(&name, async move {
        let cluster = tokio::task::spawn_blocking(move || Cluster::start(kind)).await.expect("a cluster");
        let cluster = Arc::new(cluster);
        match kind.writers {
            Writers::All => nodes_fail(cluster).await,
            Writers::One => another_takes_over(cluster).await,
        }
    });
}

/// Runners and relays at each node; one node after the other has a fault.
async fn nodes_fail(cluster: Arc<Cluster>) {
    let places: Vec<String> = (1..=cluster.nodes()).map(|node| cluster.url(node).to_owned()).collect();
    let flows = Flows::start(cluster.url(1), &places).await.expect("they begin");
    until_more_end(&flows).await;

    aside(|cluster| cluster.kill(2), &cluster).await;
    until_more_end(&flows).await;
    aside(|cluster| cluster.start_again(2), &cluster).await;
    until_more_end(&flows).await;

    aside(|cluster| cluster.pause(3), &cluster).await;
    tokio::time::sleep(PAUSE).await;
    aside(|cluster| cluster.resume(3), &cluster).await;
    until_more_end(&flows).await;

    aside(|cluster| cluster.stop(1), &cluster).await;
    aside(|cluster| cluster.start_again(1), &cluster).await;
    until_more_end(&flows).await;

    all_are_well(flows, cluster.url(2)).await;
}

/// Runners and relays behind one address; the node that takes writes is killed, and another one takes its place.
async fn another_takes_over(cluster: Arc<Cluster>) {
    let forwarder = Forwarder::to(cluster.url(1)).await.expect("a port");
    let flows = Flows::start(cluster.url(1), &vec![forwarder.url().to_owned(); 3]).await.expect("they begin");
    until_more_end(&flows).await;

    aside(|cluster| cluster.kill(1), &cluster).await;
    let writer = next_writer(&cluster).await;
    forwarder.lead_to(cluster.url(writer));
    until_more_end(&flows).await;
    aside(|cluster| cluster.start_again(1), &cluster).await;
    until_more_end(&flows).await;

    all_are_well(flows, cluster.url(writer)).await;
}

/// Longer than the others take to give a silent node up.
const PAUSE: Duration = Duration::from_secs(6);
/// How many messages have to come to an end before the next fault.
const MORE: usize = 40;

async fn until_more_end(flows: &Flows) {
    let before = flows.ended();
    for _ in 0..600 {
        if flows.ended() >= before + MORE {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("nothing has moved for a minute, after {before} messages");
}

async fn all_are_well(flows: Flows, url: &str) {
    let outcome = flows.finish(url).await.expect("they end");
    println!("flows: {outcome}");
    assert!(outcome.wrongs.is_empty(), "{outcome}");
    let ends = [outcome.finished, outcome.called_off, outcome.confirmed, outcome.cancelled, outcome.ticks];
    assert!(ends.iter().all(|count| *count > 3), "too few for a test: {outcome}");
}
