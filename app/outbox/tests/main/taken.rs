//! Claims that a test has in hand.

use claimstream::{Claim, Claims, RelayConfig};
use futures::StreamExt;

use crate::play::{Bench, Play};

async fn take(claims: &mut Claims, count: usize) -> Vec<Claim> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.push(claims.next().await.unwrap().unwrap());
    }
    taken
}

/// The stream of `play` and `count` claims of it.
pub(crate) fn taken(
    play: &Play,
    bench: &mut Bench,
    config: RelayConfig,
    count: usize,
) -> (Claims, Vec<Claim>) {
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        let taken = take(&mut claims, count).await;
        (claims, taken)
    });
    bench.settle();
    task.take().unwrap()
}

/// Room for more claims than a test takes.
pub(crate) fn wide() -> RelayConfig {
    RelayConfig { prefetch: 1000, ..RelayConfig::default() }
}
