//! Messages of one account are handled in the order in which they were written, although each is tried twice; accounts do
//! not wait for each other.
//!
//! `cargo run -p claimstream-examples --example order_by_key`
#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream::{Compose, Message, NewMessage, Relay, RelayConfig, RetryPolicy, Verdict, handler_fn};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::FutureExt;

const ACCOUNTS: usize = 3;
const BOOKINGS: [u64; 5] = [1, 2, 3, 4, 5];

/// The bookings of each account, as they were handled.
type Books = BTreeMap<String, Vec<u64>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}", folder.path().join("accounts.db").display());
    // Order by key needs `shard_lease`; all relays of a database use the same settings.
    let options =
        OpenOptions { strategy: "shard_lease".parse()?, order: "per_key".parse()?, ..OpenOptions::default() };
    let outbox = Arc::new(SeaOrmOutbox::open(&url, options).await?);
    for booking in BOOKINGS {
        for account in 1..=ACCOUNTS {
            let message =
                NewMessage::json("bookings", &booking)?.ordered_by(format!("account-{account}").parse()?);
            outbox.enqueue_now(&[message]).await?;
        }
    }

    let books = Arc::new(Mutex::new(Books::new()));
    let (all_done, stop) = futures::channel::oneshot::channel::<()>();
    let (noted, all_done) = (books.clone(), Mutex::new(Some(all_done)));
    let handler = handler_fn(move |claimed| {
        // The first attempt of every message fails; the messages behind it wait for the second.
        let verdict = match claimed.attempt {
            1 => Verdict::nack("try again"),
            _ => note(&noted, &claimed.message),
        };
        if lock(&noted).values().map(Vec::len).sum::<usize>() == BOOKINGS.len() * ACCOUNTS {
            drop(lock(&all_done).take()); // ends the pipeline
        }
        async move { verdict }
    });
    let retry = RetryPolicy { base: Duration::from_millis(20), ..RetryPolicy::default() };
    let relay = Relay::new(outbox, TokioTimer::new(), RelayConfig { retry, ..RelayConfig::default() });
    relay.pipeline("bookings", handler)?.run_until(stop.map(|_| ())).await?;

    for (account, bookings) in &*lock(&books) {
        println!("{account}: {bookings:?}");
        assert_eq!(*bookings, BOOKINGS, "bookings of {account} are out of order");
    }
    Ok(())
}

/// Notes a booking.
fn note(books: &Mutex<Books>, message: &Message) -> Verdict {
    let Ok(booking) = serde_json::from_slice(message.payload.bytes()) else {
        return Verdict::bury("the payload is no number");
    };
    let account = message.ordering_key.as_ref().map(ToString::to_string).unwrap_or_default();
    lock(books).entry(account).or_default().push(booking);
    Verdict::ack()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
