use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::notification::Answer;
use claimstream_ports::notification::DeliveryError;
use tokio::sync::OnceCell;

use super::FetchedFile;

/// A place for one file: the first that needs it fetches it, and all others wait.
pub(super) type FileCell = Arc<OnceCell<Arc<FetchedFile>>>;

/// Files by their URLs, of bounded size and age.
pub(super) struct FileCache {
    most: usize,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    by_url: HashMap<String, CachedFile>,
    /// The same, the oldest first.
    by_age: VecDeque<(Duration, String)>,
    bytes: usize,
}

struct CachedFile {
    since: Duration,
    cell: FileCell,
    bytes: usize,
    /// Why its server did not give it, and when.
    failure: Option<(Duration, DeliveryError)>,
}

impl FileCache {
    /// How long a file is kept. It bounds how long an old one is sent after it was replaced.
    const MAX_AGE: Duration = Duration::from_secs(300);
    /// How long a file that failed is not asked for again.
    const FAILED_FOR: Duration = Duration::from_secs(10);
    /// About how many bytes an entry takes without its file and its URL.
    const PLACE_BYTES: usize = 256;

    pub(super) fn new(most: usize) -> Self {
        Self { most, places: Mutex::default() }
    }

    /// The place of a URL; an empty one if the file is not there or, `now` by the caller's timer, is too old.
    pub(super) fn cell(&self, url: &str, now: Duration) -> FileCell {
        let mut places = self.places();
        places.drop_while(|places| {
            places.by_age.front().is_some_and(|(since, _)| now.saturating_sub(*since) >= Self::MAX_AGE)
        });
        if let Some(place) = places.by_url.get(url) {
            return Arc::clone(&place.cell);
        }
        let (cell, bytes) = (FileCell::default(), Self::PLACE_BYTES + 2 * url.len());
        places
            .by_url
            .insert(url.to_owned(), CachedFile { since: now, cell: Arc::clone(&cell), bytes, failure: None });
        places.by_age.push_back((now, url.to_owned()));
        places.bytes += bytes;
        self.shrink(&mut places);
        cell
    }

    /// Counts the file that has come into a place, and drops the oldest ones that have no room any more.
    pub(super) fn keep(&self, url: &str, cell: &FileCell) {
        let mut places = self.places();
        let Some(length) = cell.get().map(|file| file.bytes.len()) else { return };
        let Some(place) = places.by_url.get_mut(url).filter(|place| Arc::ptr_eq(&place.cell, cell)) else {
            return;
        };
        let whole = Self::PLACE_BYTES + 2 * url.len() + length;
        let added = whole - std::mem::replace(&mut place.bytes, whole);
        places.bytes += added;
        self.shrink(&mut places);
    }

    /// Notes why the file of a URL did not come.
    pub(super) fn fail(&self, url: &str, now: Duration, error: DeliveryError) {
        if let Some(place) = self.places().by_url.get_mut(url) {
            place.failure = Some((now, error));
        }
    }

    /// Why the file of a URL did not come a moment ago. One that may come later is to be asked for when its failure is forgotten.
    pub(super) fn failure(&self, url: &str, now: Duration) -> Option<DeliveryError> {
        let places = self.places();
        let (since, error) = places.by_url.get(url)?.failure.as_ref()?;
        let age = now.saturating_sub(*since);
        let left = Self::FAILED_FOR.checked_sub(age).filter(|left| !left.is_zero())?;
        Some(match error.answer() {
            Answer::REFUSED => error.clone(),
            _ => DeliveryError::NotReady {
                reason: error.to_string(),
                retry_after: Some(
                    error.retry_after().map_or(left, |asked| asked.saturating_sub(age).max(left)),
                ),
            },
        })
    }

    fn shrink(&self, places: &mut Places) {
        places.drop_while(|places| places.bytes > self.most);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    /// Drops the oldest places as long as this holds. Those who wait for one keep it among themselves.
    fn drop_while(&mut self, holds: impl Fn(&Self) -> bool) {
        while holds(self)
            && let Some((since, url)) = self.by_age.pop_front()
        {
            if self.by_url.get(&url).is_some_and(|place| place.since == since)
                && let Some(place) = self.by_url.remove(&url)
            {
                self.bytes -= place.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(cache: &FileCache, url: &str, bytes: usize) -> FileCell {
        let cell = cache.cell(url, Duration::ZERO);
        let _ = cell.set(Arc::new(FetchedFile { bytes: vec![0; bytes], content_type: None }));
        cache.keep(url, &cell);
        cell
    }

    fn has(cache: &FileCache, url: &str) -> bool {
        cache.places().by_url.get(url).is_some_and(|place| place.cell.get().is_some())
    }

    #[test]
    fn a_file_is_kept_once_for_a_while() {
        let cache = FileCache::new(10_000);
        let first = fill(&cache, "a", 100);
        let last = FileCache::MAX_AGE - Duration::from_nanos(1);
        assert!(Arc::ptr_eq(&first, &cache.cell("a", last)));
        cache.keep("a", &first);
        assert_eq!(cache.places().bytes, 100 + FileCache::PLACE_BYTES + 2, "it is counted once");
        assert!(!Arc::ptr_eq(&first, &cache.cell("a", FileCache::MAX_AGE)), "too old");
        cache.keep("a", &first);
        assert!(!has(&cache, "a"), "what was dropped does not come back");
    }

    #[test]
    fn the_oldest_go_where_there_is_no_room_and_empty_places_count() {
        let cache = FileCache::new(2_000);
        for url in ["a", "b", "c"] {
            fill(&cache, url, 500);
        }
        assert!(!has(&cache, "a") && has(&cache, "b") && has(&cache, "c"));
        fill(&cache, "large", 3_000);
        assert!(!has(&cache, "large") && cache.places().bytes <= 2_000);
        for n in 0..100 {
            cache.cell(&n.to_string(), Duration::ZERO);
        }
        let places = cache.places();
        assert!(places.bytes <= 2_000 && places.by_url.len() < 10 && places.by_age.len() < 10);
    }
}
