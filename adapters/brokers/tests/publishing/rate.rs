use std::time::{Duration, Instant};

use claimstream_domain::Publication;
use claimstream_ports::Publish;
use futures::{StreamExt, stream};

use crate::publication::{all_are_confirmed, fresh, publication};

/// How many messages each run publishes.
pub(crate) const MESSAGES: usize = 40_000;
/// How many a call of an adapter has.
pub(crate) const BATCH: usize = 100;
/// How many calls a relay has on the way at once.
const CALLS: usize = 4;

/// What is published: each message of another key.
pub(crate) fn publications(place: &str) -> Vec<Publication> {
    (0..MESSAGES).map(|number| publication(place, Some(&fresh("key")), number)).collect()
}

/// Messages a second by an adapter, in batches as a relay publishes them.
pub(crate) async fn of_adapter(broker: &dyn Publish, publications: &[Publication]) -> f64 {
    let began = Instant::now();
    let batches = stream::iter(publications.chunks(BATCH)).map(|batch| broker.publish(batch));
    let answers: Vec<_> = batches.buffer_unordered(CALLS).collect().await;
    assert!(answers.iter().all(|answers| all_are_confirmed(answers)));
    per_second(began.elapsed())
}

pub(crate) fn per_second(took: Duration) -> f64 {
    MESSAGES as f64 / took.as_secs_f64()
}

/// Prints both rates, and the ratio, which must be half at least.
pub(crate) fn compare(broker: &str, adapter: f64, bulk: f64) {
    let ratio = adapter / bulk;
    println!(
        "{broker}: {adapter:.0}/s in batches of {BATCH}, {bulk:.0}/s by its own bulk producer, ratio {ratio:.2}"
    );
    assert!(ratio >= 0.5, "the ratio is {ratio:.2}");
}
