use std::{
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

/// What a future comes to that never waits; mocks never do.
pub(in super::super) fn finish<T>(future: impl Future<Output = T>) -> T {
    step(pin!(future)).expect("the future waits")
}

/// Polls a future once.
pub(in super::super) fn step<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
