use std::{collections::HashSet, sync::Arc};

use claimstream_domain::{OrderingKey, Publication, Published};
use claimstream_ports::{Deadline, Timer};

use crate::waves::{LONGEST, TOO_LATE, waves};

/// The answers of one call of `publish`, and what may be sent meanwhile so that the order by key holds.
///
/// The publications of a call go out in waves. No wave has two of one key, and the next one of a key is sent only after the
/// broker has confirmed the one before it. Otherwise a broker that loses the first and keeps the second would have changed
/// their order for good.
pub(crate) struct Answers<'a> {
    publications: &'a [Publication],
    given: Vec<Option<Published>>,
    waves: std::vec::IntoIter<Vec<usize>>,
    held_up: HashSet<&'a OrderingKey>,
    longest: Deadline,
}

impl<'a> Answers<'a> {
    pub(crate) fn to(publications: &'a [Publication], timer: &Arc<dyn Timer>) -> Self {
        Self {
            publications,
            given: vec![None; publications.len()],
            waves: waves(publications).into_iter(),
            held_up: HashSet::new(),
            longest: Deadline::after(LONGEST, timer),
        }
    }

    /// The publications that may be sent now, by their places in the call; none when all have gone out.
    ///
    /// Those behind one of their key that was not confirmed are answered here; one that the broker will never take holds up none.
    pub(crate) fn next_wave(&mut self) -> Option<Vec<usize>> {
        if self.is_late() {
            let unsent: Vec<_> = self.waves.by_ref().flatten().collect();
            unsent.into_iter().for_each(|at| self.give(at, Published::unsent(TOO_LATE)));
        }
        loop {
            let wave = self.waves.next()?;
            let (held_up, free): (Vec<_>, Vec<_>) =
                wave.into_iter().partition(|at| self.key(*at).is_some_and(|key| self.held_up.contains(key)));
            for at in held_up {
                self.given[at] = Some(Published::unsent(HELD_UP));
            }
            if !free.is_empty() {
                return Some(free);
            }
        }
    }

    /// Whether the call has lasted so long that it sends nothing more.
    pub(crate) fn is_late(&self) -> bool {
        self.longest.has_passed()
    }

    /// Notes the answer to the publication at this place of the call.
    pub(crate) fn give(&mut self, at: usize, answer: Published) {
        if answer.is_open()
            && let Some(key) = self.key(at)
        {
            self.held_up.insert(key);
        }
        self.given[at] = Some(answer);
    }

    /// The places of a wave that have no answer yet.
    pub(crate) fn open(&self, wave: &[usize]) -> Vec<usize> {
        wave.iter().copied().filter(|at| self.given[*at].is_none()).collect()
    }

    /// All answers; what has none was not sent or not confirmed, for the reason given.
    pub(crate) fn finish(mut self, otherwise: &str) -> Vec<Published> {
        for at in self.waves.by_ref().flatten() {
            self.given[at].get_or_insert_with(|| Published::unsent(otherwise));
        }
        let given = self.given.into_iter();
        given.map(|answer| answer.unwrap_or_else(|| Published::unconfirmed(otherwise))).collect()
    }

    fn key(&self, at: usize) -> Option<&'a OrderingKey> {
        self.publications[at].key.as_ref()
    }
}

const HELD_UP: &str = "it was not sent, because an earlier message of its ordering key was not confirmed";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use claimstream_domain::{Headers, MessageId, Payload};
    use claimstream_tokio::TokioTimer;

    use super::*;

    fn publications(keys: &[&str]) -> Vec<Publication> {
        let publication = |key: &&str| Publication {
            id: MessageId::new(Default::default()),
            place: "q".to_owned(),
            key: OrderingKey::new(key).ok(),
            attributes: Vec::new(),
            headers: Headers::new(),
            body: Payload::json("{}"),
        };
        keys.iter().map(publication).collect()
    }

    fn timer() -> Arc<dyn Timer> {
        Arc::new(TokioTimer::new())
    }

    #[test]
    fn after_one_that_is_not_confirmed_none_of_its_key_is_sent() {
        let publications = publications(&["a", "b", "c", "a", "b", "c"]);
        let mut answers = Answers::to(&publications, &timer());
        assert_eq!(answers.next_wave(), Some(vec![0, 1, 2]));
        answers.give(0, Published::unconfirmed("nack"));
        answers.give(1, Published::Confirmed);
        answers.give(2, Published::refused("too large"));
        assert_eq!(answers.next_wave(), Some(vec![4, 5]));
        answers.give(4, Published::Confirmed);
        answers.give(5, Published::Confirmed);
        assert_eq!(answers.next_wave(), None);
        let given = answers.finish("never sent");
        assert_eq!(given[3], Published::unsent(HELD_UP));
        assert_eq!([&given[4], &given[5]], [&Published::Confirmed; 2]);
    }

    /// Guard: a call that has lasted long sends nothing more | no look at `LONGEST`; the same in
    /// nats/publisher.rs
    #[tokio::test(start_paused = true)]
    async fn a_call_that_has_lasted_long_sends_nothing_more() {
        let publications = publications(&["a", "a", "a", "b"]);
        let mut answers = Answers::to(&publications, &timer());
        assert_eq!(answers.next_wave(), Some(vec![0, 3]));
        [0, 3].into_iter().for_each(|at| answers.give(at, Published::Confirmed));
        let last = Duration::from_millis(1);
        tokio::time::advance(LONGEST - last).await;
        assert_eq!(answers.next_wave(), Some(vec![1]));
        answers.give(1, Published::Confirmed);
        tokio::time::advance(last).await;
        assert_eq!(answers.next_wave(), None);
        let given = answers.finish("never sent");
        assert_eq!([&given[0], &given[1], &given[3]], [&Published::Confirmed; 3]);
        assert_eq!(given[2], Published::unsent(TOO_LATE));
    }

    #[test]
    fn what_was_never_sent_is_not_confirmed() {
        let publications = publications(&["a", "", "a"]);
        let mut answers = Answers::to(&publications, &timer());
        let wave = answers.next_wave().unwrap();
        answers.give(0, Published::Confirmed);
        assert_eq!(answers.open(&wave), [1]);
        let expected = [Published::Confirmed, Published::unconfirmed("gone"), Published::unsent("gone")];
        assert_eq!(answers.finish("gone"), expected);
    }
}
