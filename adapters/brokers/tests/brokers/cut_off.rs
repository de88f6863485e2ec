use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// What a call returns, unless it has not after so many polls; then it is dropped there.
pub(crate) async fn cut_off<T>(polls: usize, call: impl Future<Output = T>) -> Option<T> {
    let (mut call, mut made) = (pin!(call), 0);
    let cut = poll_fn(|cx| {
        if made == polls {
            return Poll::Ready(None);
        }
        made += 1;
        match call.as_mut().poll(cx) {
            Poll::Pending if made == polls => Poll::Ready(None),
            polled => polled.map(Some),
        }
    });
    let ended = cut.await;
    // What the call has begun goes on before the next one.
    tokio::task::yield_now().await;
    ended
}
