use std::pin::Pin;

/// A future behind a pointer, of a type that the compiler need not look into: in an optimised build it meets its limit for futures within
/// futures otherwise.
pub(super) trait Boxed: Future + Sized {
    fn boxed<'a>(self) -> Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>
    where
        Self: Send + 'a,
    {
        Box::pin(self)
    }
}

impl<F: Future> Boxed for F {}
