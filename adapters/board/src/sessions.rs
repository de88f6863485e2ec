use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::time::Instant;
use uuid::Uuid;

use crate::access::Visitor;

/// The visitors who have signed in. A browser keeps a random word, and the process only its SHA-256, until it ends.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

struct Session {
    visitor: Visitor,
    until: Instant,
}

impl Sessions {
    /// How long a visitor stays signed in.
    pub(crate) const LAST: Duration = Duration::from_secs(12 * 3_600);
    /// The most sessions; beyond it, the one that ends first makes room.
    const MOST: usize = 1_000;

    /// Signs a visitor in, and answers the word for the browser.
    pub(crate) fn begin(&self, visitor: Visitor) -> String {
        let word = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let now = Instant::now();
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.until > now);
        if sessions.len() >= Self::MOST {
            let first = sessions.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key);
            first.map(|key| sessions.remove(&key));
        }
        sessions.insert(key(&word), Session { visitor, until: now + Self::LAST });
        word
    }

    /// The visitor who was given this word, if the session has not ended.
    pub(crate) fn visitor(&self, word: &str) -> Option<Visitor> {
        let sessions = self.lock();
        let session = sessions.get(&key(word)).filter(|session| session.until > Instant::now())?;
        Some(session.visitor.clone())
    }

    /// Ends a session.
    pub(crate) fn end(&self, word: &str) {
        self.lock().remove(&key(word));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(word: &str) -> [u8; 32] {
    Sha256::digest(word).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Right;

    fn visitor(name: &str) -> Visitor {
        Visitor { name: name.into(), right: Right::Look }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_it_is_ended_or_its_time_is_over() {
        let sessions = Sessions::default();
        let (ann, bob) = (sessions.begin(visitor("ann")), sessions.begin(visitor("bob")));
        assert!(ann != bob && ann.len() == 64);
        assert_eq!(sessions.visitor(&ann), Some(visitor("ann")));
        assert_eq!(sessions.visitor("ann"), None);
        sessions.end(&ann);
        assert_eq!((sessions.visitor(&ann), sessions.visitor(&bob)), (None, Some(visitor("bob"))));
        tokio::time::advance(Sessions::LAST).await;
        assert_eq!(sessions.visitor(&bob), None);
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_a_most_of_them_and_the_oldest_makes_room() {
        let sessions = Sessions::default();
        let first = sessions.begin(visitor("first"));
        for _ in 1..Sessions::MOST {
            tokio::time::advance(Duration::from_millis(1)).await;
            sessions.begin(visitor("other"));
        }
        assert!(sessions.visitor(&first).is_some());
        let last = sessions.begin(visitor("last"));
        assert!(sessions.visitor(&first).is_none() && sessions.visitor(&last).is_some());
        assert_eq!(sessions.lock().len(), Sessions::MOST);
    }
}
