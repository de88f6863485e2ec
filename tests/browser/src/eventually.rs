use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;

/// Waits until a condition holds, however long that takes; a test that waits for good is stuck and fails with `what`.
pub async fn eventually<F>(what: &str, mut holds: impl FnMut() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<bool, Failure>>,
{
    let begun = Instant::now();
    while !holds().await? {
        if begun.elapsed() > STUCK {
            return Err(format!("stuck for {STUCK:?} before {what}").into());
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

const PAUSE: Duration = Duration::from_millis(25);
const STUCK: Duration = Duration::from_secs(300);
