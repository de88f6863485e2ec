use std::{pin::Pin, time::Duration};

/// A runtime's way to wait, and its monotonic clock.
///
/// Implementors owe: [`now`](Self::now) never goes back and counts while the process is paused as well as the system
/// allows; [`sleep`](Self::sleep) ends no earlier than asked, by the same clock, and stops when it is dropped.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use claimstream_ports::{Sleep, Timer};
///
/// /// The timer of an executor of your own.
/// struct MyTimer(Instant);
///
/// # async fn my_sleep(_: Duration) {}
/// impl Timer for MyTimer {
///     fn now(&self) -> Duration {
///         self.0.elapsed()
///     }
///
///     fn sleep(&self, duration: Duration) -> Sleep<'_> {
///         Box::pin(my_sleep(duration))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no timer that Claimstream can wait by",
    label = "not a `Timer`",
    note = "on tokio use `claimstream_tokio::TokioTimer::new()`; the documentation of `Timer` shows how to write one"
)]
pub trait Timer: Send + Sync {
    /// Time since some fixed moment before the first call.
    fn now(&self) -> Duration;

    /// Waits for `duration`.
    fn sleep(&self, duration: Duration) -> Sleep<'_>;

    /// Runs work to its end next to whatever the caller does next, if the runtime can; otherwise drops it.
    ///
    /// A relay hands over what must not wait for its consumer: giving back messages whose lease would run out before a consumer
    /// asks for them. Without it they come back when their leases end, and those attempts count.
    fn spawn(&self, work: Sleep<'static>) {
        drop(work);
    }
}

/// A wait of a [`Timer`].
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
