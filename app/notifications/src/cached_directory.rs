use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::notification::{Recipient, SegmentPlace};
use claimstream_ports::{
    StoreError, Timer,
    notification::{FoundUsers, RecipientDirectory, SegmentPage},
};

/// A directory behind a cache of bounded age.
///
/// A user that was found serves without a question for as long as `fresh`; so an address that has changed, or a user that was removed,
/// is used for no longer. That a user is unknown is not kept, so a new one is found at once, and neither are the members of segments,
/// which are read once. The failure of the directory is the caller's: an old answer never stands in for it.
pub struct CachedDirectory {
    directory: Arc<dyn RecipientDirectory>,
    timer: Arc<dyn Timer>,
    fresh: Duration,
    known: Mutex<HashMap<String, CachedUser>>,
}

struct CachedUser {
    user: Recipient,
    /// When it was asked for, on the timer's clock.
    asked_at: Duration,
}

impl CachedDirectory {
    /// How many users are kept.
    const MOST: usize = 10_000;

    /// An empty cache.
    pub fn new(directory: Arc<dyn RecipientDirectory>, timer: Arc<dyn Timer>, fresh: Duration) -> Self {
        Self { directory, timer, fresh, known: Mutex::default() }
    }

    /// The users that are known and fresh, by id.
    fn fresh(&self, ids: &[String], now: Duration) -> HashMap<String, Recipient> {
        let known = self.known();
        let fresh = ids.iter().filter_map(|id| {
            let known = known.get(id).filter(|known| now < known.asked_at.saturating_add(self.fresh))?;
            Some((id.clone(), known.user.clone()))
        });
        fresh.collect()
    }

    fn keep(&self, found: &HashMap<String, Recipient>, asked_at: Duration) {
        let mut known = self.known();
        if known.len() + found.len() > Self::MOST {
            known.retain(|_, known| asked_at < known.asked_at.saturating_add(self.fresh));
        }
        if known.len() + found.len() > Self::MOST {
            known.clear();
        }
        let kept = found.iter().take(Self::MOST);
        known.extend(kept.map(|(id, user)| (id.clone(), CachedUser { user: user.clone(), asked_at })));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, CachedUser>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl RecipientDirectory for CachedDirectory {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let now = self.timer.now();
        let (mut known, mut unreadable) = (self.fresh(ids, now), Vec::new());
        let missing: Vec<String> = ids.iter().filter(|id| !known.contains_key(*id)).cloned().collect();
        if !missing.is_empty() {
            let found = self.directory.users(&missing).await?;
            unreadable = found.unreadable;
            let found =
                missing.into_iter().zip(found.users).filter_map(|(id, user)| Some((id, user?))).collect();
            self.keep(&found, now);
            known.extend(found);
        }
        Ok(FoundUsers { users: ids.iter().map(|id| known.get(id).cloned()).collect(), unreadable })
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        self.directory.members(segment, from, limit).await
    }
}

impl fmt::Debug for CachedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedDirectory").field("fresh", &self.fresh).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a cached user is used for no longer than `fresh`
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use claimstream_ports::{Sleep, StoreErrorKind, mock::MockRecipientDirectory};
    use futures::executor::block_on;

    use super::*;

    #[derive(Default)]
    struct Hand(AtomicU64);

    impl Timer for Hand {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(Relaxed))
        }

        fn sleep(&self, _: Duration) -> Sleep<'_> {
            Box::pin(std::future::ready(()))
        }
    }

    /// The ids of each question that reached the directory.
    type Asked = Arc<Mutex<Vec<Vec<String>>>>;

    /// A cache of ten seconds before a directory that knows every id but `x`, fails for `away`, and notes what it was asked for.
    fn world() -> (CachedDirectory, Arc<Hand>, Asked) {
        let (hand, asked) = (Arc::<Hand>::default(), Asked::default());
        let mut directory = MockRecipientDirectory::new();
        let noted = Arc::clone(&asked);
        directory.expect_users().returning(move |ids| {
            noted.lock().unwrap().push(ids.to_vec());
            if ids.iter().any(|id| id == "away") {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "directory", "away"));
            }
            let users = ids.iter().map(|id| (id != "x").then(|| Recipient::user(id)));
            let unreadable = ids.iter().filter(|id| *id == "x").cloned().collect();
            Ok(FoundUsers { users: users.collect(), unreadable })
        });
        let cache = CachedDirectory::new(Arc::new(directory), hand.clone(), Duration::from_secs(10));
        (cache, hand, asked)
    }

    fn ask(cache: &CachedDirectory, ids: &[&str]) -> Result<Vec<bool>, StoreError> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let FoundUsers { users, unreadable } = block_on(cache.users(&ids))?;
        let x = "x".to_owned();
        assert_eq!(unreadable.contains(&x), ids.contains(&x));
        for (id, user) in ids.iter().zip(&users) {
            assert!(user.as_ref().is_none_or(|user| user.user.as_ref() == Some(id)));
        }
        Ok(users.iter().map(Option::is_some).collect())
    }

    #[test]
    fn a_user_serves_while_it_is_fresh_and_an_unknown_one_is_asked_for_again() {
        let (cache, hand, asked) = world();
        assert_eq!(ask(&cache, &["a", "x", "a"]).unwrap(), [true, false, true]);
        hand.0.store(9, Relaxed);
        assert_eq!(ask(&cache, &["a", "x"]).unwrap(), [true, false]);
        hand.0.store(10, Relaxed);
        assert_eq!(ask(&cache, &["a"]).unwrap(), [true]);
        assert_eq!(*asked.lock().unwrap(), [vec!["a", "x", "a"], vec!["x"], vec!["a"]]);
    }

    #[test]
    fn a_failure_is_reported_and_hides_behind_no_old_answer() {
        let (cache, hand, _) = world();
        ask(&cache, &["a"]).unwrap();
        assert!(ask(&cache, &["a", "away"]).is_err());
        hand.0.store(10, Relaxed);
        assert_eq!(ask(&cache, &["a"]).unwrap(), [true]);
    }

    #[test]
    fn no_more_users_are_kept_than_there_is_room_for() {
        let (cache, _, _) = world();
        for page in 0..12 {
            let ids: Vec<String> = (0..1_000).map(|n| format!("{page}/{n}")).collect();
            block_on(cache.users(&ids)).unwrap();
            assert!(cache.known().len() <= CachedDirectory::MOST);
        }
    }
}
