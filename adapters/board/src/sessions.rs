use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::access::User;

/// The users who have signed in. A browser keeps a random word, and the process only its SHA-256, until it ends.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

struct Session {
    user: User,
    /// By the timer of the boards.
    until: Duration,
}

impl Sessions {
    /// How long a user stays signed in.
    pub(crate) const LAST: Duration = Duration::from_secs(12 * 3_600);
    /// The most sessions; beyond it, the one that ends first makes room.
    const MOST: usize = 1_000;

    /// Signs a user in, and answers the word for the browser.
    pub(crate) fn begin(&self, user: User, now: Duration) -> String {
        let word = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.until > now);
        if sessions.len() >= Self::MOST {
            let first = sessions.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key);
            first.map(|key| sessions.remove(&key));
        }
        sessions.insert(key(&word), Session { user, until: now + Self::LAST });
        word
    }

    /// The user who was given this word, if the session has not ended.
    pub(crate) fn user(&self, word: &str, now: Duration) -> Option<User> {
        let sessions = self.lock();
        let session = sessions.get(&key(word)).filter(|session| session.until > now)?;
        Some(session.user.clone())
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

    fn user(name: &str) -> User {
        User { name: name.into(), right: Right::Look }
    }

    #[test]
    fn a_session_ends_when_it_is_ended_or_its_time_is_over() {
        let (sessions, begun) = (Sessions::default(), Duration::from_secs(7));
        let (ann, bob) = (sessions.begin(user("ann"), begun), sessions.begin(user("bob"), begun));
        assert!(ann != bob && ann.len() == 64);
        assert_eq!(sessions.user(&ann, begun), Some(user("ann")));
        assert_eq!(sessions.user("ann", begun), None);
        sessions.end(&ann);
        let at = |now| (sessions.user(&ann, now), sessions.user(&bob, now));
        assert_eq!(at(begun), (None, Some(user("bob"))));
        assert_eq!(at(begun + Sessions::LAST), (None, None));
    }

    #[test]
    fn there_is_a_most_of_them_and_the_oldest_makes_room() {
        let (sessions, now) = (Sessions::default(), |nth| Duration::from_millis(nth as u64));
        let first = sessions.begin(user("first"), now(0));
        for nth in 1..Sessions::MOST {
            sessions.begin(user("other"), now(nth));
        }
        let now = now(Sessions::MOST);
        assert!(sessions.user(&first, now).is_some());
        let last = sessions.begin(user("last"), now);
        assert!(sessions.user(&first, now).is_none() && sessions.user(&last, now).is_some());
        assert_eq!(sessions.lock().len(), Sessions::MOST);
    }
}
