use std::{any::Any, fmt};

/// What a provider has made ready for one delivery. It lasts until the delivery has ended, however it ends.
#[derive(Default)]
pub struct Prepared(Option<Box<dyn Any + Send + Sync>>);

impl Prepared {
    /// Holds this until the end of the delivery; the provider keeps a [`Weak`](std::sync::Weak) of what it shares.
    pub fn holding(ready: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(ready)))
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prepared").field(&self.0.is_some()).finish()
    }
}
