use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Waits until a condition holds, however long that takes; a test that waits for good is stuck and panics with `what`.
///
/// It asks every 10 ms. The limit proves nothing and is no promise: it only ends a run that would never end.
pub async fn eventually<F>(what: &str, mut condition: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    eventually_some(what, || {
        let holds = condition();
        async { holds.await.then_some(()) }
    })
    .await
}

/// Waits as [`eventually`] does until a call gives something, such as an answer that is not to be asked for again.
pub async fn eventually_some<T, F>(what: &str, mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let begun = Instant::now();
    loop {
        if let Some(found) = call().await {
            return found;
        }
        assert!(begun.elapsed() < STUCK, "stuck for {STUCK:?} before {what}");
        sleep(PAUSE).await;
    }
}

const PAUSE: Duration = Duration::from_millis(10);
const STUCK: Duration = Duration::from_secs(300);
