use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::notification::TemplateVersion;
use claimstream_ports::{StoreError, Timer, notification::TemplateSource};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};

/// A source of templates behind a cache of bounded age.
///
/// * A template is asked for again when its answer is older than `fresh`. A certain version never changes and is kept.
/// * Callers that miss the same template at the same time share one question, and its failure.
/// * While the source fails, an answer that is no older than `stale` serves, and the source is asked again after `fresh`.
/// * That there is no such template is not kept, so a template can be used at once when it is published.
pub struct CachedTemplates {
    source: Arc<dyn TemplateSource>,
    timer: Arc<dyn Timer>,
    age: TemplateAge,
    entries: Mutex<HashMap<Key, CacheEntry>>,
}

/// How old templates may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TemplateAge {
    /// As old as this an answer serves without a question.
    pub fresh: Duration,
    /// As old as this it serves while the source fails.
    pub stale: Duration,
}

/// A template, or a certain version of it.
type Key = (String, Option<u32>);

#[derive(Default)]
struct CacheEntry {
    kept: Option<CachedVersion>,
    asking: Option<WeakShared<VersionFetch>>,
}

struct CachedVersion {
    version: Arc<TemplateVersion>,
    asked_at: Duration,
    /// Until then it serves without a question.
    fresh_until: Duration,
}

type VersionFetch = BoxFuture<'static, FetchedVersion>;

#[derive(Clone)]
struct FetchedVersion {
    asked_at: Duration,
    found: Result<Option<Arc<TemplateVersion>>, Arc<StoreError>>,
}

impl CachedTemplates {
    /// How many templates and versions are kept.
    const MOST: usize = 1_000;

    /// A cache with nothing in it.
    pub fn new(source: Arc<dyn TemplateSource>, timer: Arc<dyn Timer>, age: TemplateAge) -> Self {
        Self { source, timer, age, entries: Mutex::default() }
    }

    async fn find(&self, key: Key) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let asking = match self.kept_or_asking(&key) {
            Ok(kept) => return Ok(Some(kept)),
            Err(asking) => asking,
        };
        let FetchedVersion { asked_at, found } = asking.await;
        match found {
            Ok(Some(version)) => {
                self.keep(key, &version, asked_at);
                Ok(Some(version))
            }
            Ok(None) => {
                self.entries().remove(&key);
                Ok(None)
            }
            Err(error) => self.stale(&key, &error).map(Some).ok_or_else(|| again(&error)),
        }
    }

    /// What is kept and fresh, or the question that is under way or begins.
    fn kept_or_asking(&self, key: &Key) -> Result<Arc<TemplateVersion>, Shared<VersionFetch>> {
        let now = self.timer.now();
        let mut entries = self.entries();
        let entry = entries.entry(key.clone()).or_default();
        if let Some(kept) = entry.kept.as_ref().filter(|kept| now < kept.fresh_until) {
            return Ok(Arc::clone(&kept.version));
        }
        if let Some(asking) = entry.asking.as_ref().and_then(WeakShared::upgrade) {
            return Err(asking);
        }
        let (source, (id, number)) = (Arc::clone(&self.source), key.clone());
        let ask = async move {
            let found = match number {
                Some(number) => source.version(&id, number).await,
                None => source.published(&id).await,
            };
            FetchedVersion { asked_at: now, found: found.map_err(Arc::new) }
        };
        let asking = ask.boxed().shared();
        entry.asking = asking.downgrade();
        Err(asking)
    }

    fn keep(&self, key: Key, version: &Arc<TemplateVersion>, asked_at: Duration) {
        let is_fixed = key.1.is_some() && version.number > 0;
        let fresh = if is_fixed { Duration::MAX } else { self.age.fresh };
        let kept = CachedVersion {
            version: Arc::clone(version),
            asked_at,
            fresh_until: asked_at.saturating_add(fresh),
        };
        let mut entries = self.entries();
        if entries.len() >= Self::MOST && !entries.contains_key(&key) {
            entries.clear();
        }
        entries.entry(key).or_default().kept = Some(kept);
    }

    /// What serves while the source fails.
    fn stale(&self, key: &Key, error: &StoreError) -> Option<Arc<TemplateVersion>> {
        let now = self.timer.now();
        let mut entries = self.entries();
        let kept = entries.get_mut(key).and_then(|entry| entry.kept.as_mut());
        let kept = kept.filter(|kept| now.saturating_sub(kept.asked_at) <= self.age.stale);
        let Some(kept) = kept else {
            entries.remove(key);
            return None;
        };
        let age = now.saturating_sub(kept.asked_at);
        kept.fresh_until = now.saturating_add(self.age.fresh);
        tracing::warn!(template = key.0, age_seconds = age.as_secs_f64(), %error, "the source of templates fails; an older answer serves");
        Some(Arc::clone(&kept.version))
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Key, CacheEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The failure that several callers share.
fn again(error: &StoreError) -> StoreError {
    StoreError::new(error.kind(), error.operation(), error.get_ref().to_string())
}

#[async_trait]
impl TemplateSource for CachedTemplates {
    async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        self.find((id.to_owned(), None)).await
    }

    async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        self.find((id.to_owned(), Some(number))).await
    }
}

impl fmt::Debug for CachedTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedTemplates").field("age", &self.age).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

    use claimstream_ports::{Sleep, StoreErrorKind, mock::MockTemplateSource};
    use futures::{executor::block_on, future::join_all};
    use serde_json::json;

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

    struct World {
        cache: CachedTemplates,
        hand: Arc<Hand>,
        asked: Arc<AtomicU32>,
        /// What the source answers: 0 fails, 99 is nothing.
        says: Arc<AtomicU32>,
        /// Nothing is answered while this is false.
        open: Arc<AtomicBool>,
    }

    /// A source that answers while its gate is open.
    fn world() -> World {
        struct Source(Arc<AtomicU32>, Arc<AtomicU32>, Arc<AtomicBool>);
        #[async_trait]
        impl TemplateSource for Source {
            async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
                self.0.fetch_add(1, Relaxed);
                std::future::poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if self.2.load(Relaxed) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
                })
                .await;
                match self.1.load(Relaxed) {
                    0 => Err(StoreError::new(StoreErrorKind::Transient, "templates", "is down")),
                    99 => Ok(None),
                    number => {
                        let version = json!({"id": id, "number": number, "template": {"default_language": "en", "texts": {}}});
                        Ok(Some(Arc::new(serde_json::from_value(version).unwrap())))
                    }
                }
            }
        }
        let (hand, asked, says) = (Arc::new(Hand::default()), Arc::default(), Arc::new(AtomicU32::new(1)));
        let open = Arc::new(AtomicBool::new(true));
        let age = TemplateAge { fresh: Duration::from_secs(10), stale: Duration::from_secs(100) };
        let source = Source(Arc::clone(&asked), Arc::clone(&says), Arc::clone(&open));
        World { cache: CachedTemplates::new(Arc::new(source), hand.clone(), age), hand, asked, says, open }
    }

    impl World {
        fn at(&self, second: u64) -> Result<Option<u32>, String> {
            self.hand.0.store(second, Relaxed);
            let found = block_on(self.cache.published("t"));
            found.map(|found| found.map(|version| version.number)).map_err(|e| e.to_string())
        }

        fn asked(&self) -> u32 {
            self.asked.load(Relaxed)
        }
    }

    #[test]
    fn an_answer_serves_until_it_is_too_old() {
        let world = world();
        assert_eq!((world.at(0), world.at(9), world.asked()), (Ok(Some(1)), Ok(Some(1)), 1));
        world.says.store(2, Relaxed);
        assert_eq!((world.at(9), world.at(10), world.asked()), (Ok(Some(1)), Ok(Some(2)), 2));
    }

    /// Fifty callers that all ask before the source answers.
    fn at_once(world: &World, id: &str) -> Vec<Result<Option<Arc<TemplateVersion>>, StoreError>> {
        world.open.store(false, Relaxed);
        let mut callers: Vec<_> = (0..50).map(|_| Box::pin(world.cache.published(id))).collect();
        // Polled by hand: `join_all` would let some of them begin after the others have ended.
        assert!(callers.iter_mut().all(|caller| caller.as_mut().now_or_never().is_none()));
        world.open.store(true, Relaxed);
        block_on(join_all(callers))
    }

    #[test]
    fn many_that_miss_at_the_same_time_ask_once() {
        let world = world();
        let all = at_once(&world, "t");
        assert!(all.into_iter().all(|found| found.unwrap().unwrap().number == 1));
        assert_eq!(world.asked(), 1);
        world.says.store(0, Relaxed);
        let all = at_once(&world, "other");
        assert!(all.into_iter().all(|found| found.unwrap_err().to_string().matches("is down").count() == 1));
        assert_eq!(world.asked(), 2);
    }

    #[test]
    fn a_caller_that_goes_away_leaves_the_question_to_the_others() {
        let world = world();
        world.open.store(false, Relaxed);
        let mut first = Box::pin(world.cache.published("t"));
        assert!(first.as_mut().now_or_never().is_none());
        drop(first);
        world.open.store(true, Relaxed);
        assert_eq!(world.at(0), Ok(Some(1)));
    }

    #[test]
    fn a_source_that_fails_is_stood_in_for_by_an_answer_that_is_not_too_old() {
        let world = world();
        assert_eq!(world.at(0), Ok(Some(1)));
        world.says.store(0, Relaxed);
        assert_eq!((world.at(20), world.at(29), world.asked()), (Ok(Some(1)), Ok(Some(1)), 2));
        assert_eq!((world.at(100), world.asked()), (Ok(Some(1)), 3));
        assert!(world.at(111).unwrap_err().contains("is down"));
    }

    #[test]
    fn that_there_is_nothing_is_not_kept() {
        let world = world();
        world.says.store(99, Relaxed);
        assert_eq!(world.at(0), Ok(None));
        world.says.store(1, Relaxed);
        assert_eq!(world.at(0), Ok(Some(1)));
    }

    #[test]
    fn a_version_is_kept_for_good() {
        let mut source = MockTemplateSource::new();
        source.expect_version().times(1).returning(|id, number| {
            let version =
                json!({"id": id, "number": number, "template": {"default_language": "en", "texts": {}}});
            Ok(Some(Arc::new(serde_json::from_value(version).unwrap())))
        });
        let hand = Arc::new(Hand::default());
        let age = TemplateAge { fresh: Duration::from_secs(1), stale: Duration::from_secs(1) };
        let cache = CachedTemplates::new(Arc::new(source), hand.clone(), age);
        for second in [0, 1_000_000] {
            hand.0.store(second, Relaxed);
            assert_eq!(block_on(cache.version("t", 3)).unwrap().unwrap().number, 3);
        }
    }
}
