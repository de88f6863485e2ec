use claimstream_ports::{StoreError, StoreErrorKind};

/// Parts of a sweep that do not depend on each other.
#[derive(Default)]
pub(super) struct Parts {
    failed: Option<StoreError>,
    /// How many parts in a row the store could not be reached for.
    unreachable: u32,
}

impl Parts {
    /// After so many the store is away, and each further part would only wait for it.
    const GIVEN_UP: u32 = 2;

    /// Runs a part, unless the store is away. An error is logged and kept; the part then counts as one that found nothing.
    pub(super) async fn run<T: Default>(
        &mut self,
        part: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> T {
        if self.unreachable == Self::GIVEN_UP {
            return T::default();
        }
        let error = match work.await {
            Ok(done) => {
                self.unreachable = 0;
                return done;
            }
            Err(error) => error,
        };
        let is_away = error.kind() == StoreErrorKind::Unavailable;
        self.unreachable = if is_away { self.unreachable + 1 } else { 0 };
        tracing::warn!(part, %error, "a part of the sweep failed");
        self.failed.get_or_insert(error);
        T::default()
    }

    /// The first error.
    pub(super) fn result(self) -> Result<(), StoreError> {
        self.failed.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, "sweep", "no")
    }

    #[tokio::test]
    async fn the_others_go_on_after_one_has_failed() {
        let mut parts = Parts::default();
        assert_eq!(parts.run("one", async { Err::<u64, _>(error(StoreErrorKind::Corrupt)) }).await, 0);
        assert_eq!(parts.run("two", async { Err::<u64, _>(error(StoreErrorKind::Unavailable)) }).await, 0);
        assert_eq!(parts.run("three", async { Ok(3) }).await, 3);
        assert_eq!(parts.result().unwrap_err().kind(), StoreErrorKind::Corrupt);
    }

    #[tokio::test]
    async fn nothing_more_is_tried_once_the_store_is_away() {
        let mut parts = Parts::default();
        for part in ["one", "two"] {
            parts.run(part, async { Err::<(), _>(error(StoreErrorKind::Unavailable)) }).await;
        }
        parts.run("three", async { unreachable!("the store is away") as Result<(), StoreError> }).await;
        assert!(parts.result().is_err());
    }
}
