use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Waits until a condition holds, however long that takes; a test that waits for good is stuck and panics with `what`.
///
/// It asks every 10 ms. The limit proves nothing and is no promise: it only ends a run that would never end.
pub async fn eventually<F>(what: &str, mut condition: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let begun = Instant::now();
    while !condition().await {
        assert!(begun.elapsed() < STUCK, "stuck for {STUCK:?} before {what}");
        sleep(PAUSE).await;
    }
}

const PAUSE: Duration = Duration::from_millis(10);
const STUCK: Duration = Duration::from_secs(300);
