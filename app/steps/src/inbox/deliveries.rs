use std::time::Duration;

use claimstream_ports::{Consume, ConsumeError, Delivery, Timer};
use futures::{Stream, stream};

/// The pauses before a broker is asked again that gave an error, doubled from the first to the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// What a broker gives, as a stream that never ends.
///
/// An error is an item, too. After one the stream waits before it asks again, up to 5 s, so a loop that only logs errors does not spin
/// while a broker is away. Dropping the stream loses nothing.
pub fn deliveries<'a>(
    broker: &'a dyn Consume,
    timer: &'a dyn Timer,
) -> impl Stream<Item = Result<Delivery, ConsumeError>> + Send + 'a {
    stream::unfold(None, move |pause: Option<Duration>| async move {
        if let Some(pause) = pause {
            timer.sleep(pause).await;
        }
        let given = broker.next().await;
        let [first, last] = PAUSES;
        let pause = given.is_err().then(|| pause.map_or(first, |pause| (pause * 2).min(last)));
        Some((given, pause))
    })
}
