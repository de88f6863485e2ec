use std::time::Duration;

use claimstream_domain::{
    DeadLetterFilter, DeadLetterListed, DeadLetterPage, DeadLetterPlace, ErrorClass, MessageId, QueueName,
    Reason,
};
use claimstream_ports::{DeadLetters, StoreError, Timer};
use serde::Deserialize;
use uuid::Uuid;

/// Which dead letters of a queue are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Selection {
    pub(crate) queue: QueueName,
    /// Only those that failed like this.
    pub(crate) class: Option<ErrorClass>,
    /// Only this one.
    pub(crate) id: Option<MessageId>,
}

/// A selection as an address or a form names it.
#[derive(Deserialize)]
pub(crate) struct NamedSelection {
    queue: Option<String>,
    class: Option<String>,
    id: Option<Uuid>,
    /// Where a page begins.
    pub(crate) after: Option<String>,
}

/// A part of a queue's dead letters.
pub(crate) struct SelectedLetters {
    /// Those that are meant, newest first.
    pub(crate) chosen: Vec<DeadLetterListed>,
    /// How many were looked at.
    pub(crate) looked_at: u64,
    /// Where to look further; `None` at the end of the queue.
    pub(crate) next: Option<DeadLetterPlace>,
}

/// How much one answer looks at, and how much of it is asked for at a time.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// It ends once so many were found; the page in which that happens is taken whole.
    pub(crate) wanted: usize,
    /// It ends once so many were looked at.
    pub(crate) looked_at: u64,
    /// It ends after so long.
    pub(crate) time: Duration,
    /// So many are read at a time.
    pub(crate) page: u32,
}

impl Selection {
    /// Whether a letter is meant.
    pub(crate) fn means(&self, letter: &DeadLetterListed) -> bool {
        self.class.as_ref().is_none_or(|class| ErrorClass::of(&letter.reason) == *class)
            && self.id.is_none_or(|id| letter.id == id)
    }

    /// The dead letters that are meant, behind a place, within bounds.
    pub(crate) async fn part(
        &self,
        dead_letters: &dyn DeadLetters,
        mut after: Option<DeadLetterPlace>,
        bounds: Bounds,
        timer: &dyn Timer,
    ) -> Result<SelectedLetters, StoreError> {
        let (began, filter) = (timer.now(), self.filter());
        let mut part = SelectedLetters { chosen: Vec::new(), looked_at: 0, next: None };
        loop {
            let DeadLetterPage { letters, next } = dead_letters.page(&filter, after, bounds.page).await?;
            part.looked_at += letters.len() as u64;
            part.chosen.extend(letters.into_iter().filter(|letter| self.means(letter)));
            let is_enough = part.chosen.len() >= bounds.wanted
                || part.looked_at >= bounds.looked_at
                || timer.now() - began >= bounds.time;
            match next {
                Some(next) if !is_enough => after = Some(next),
                next => return Ok(SelectedLetters { next, ..part }),
            }
        }
    }

    /// What the store can filter by: everything but the class.
    fn filter(&self) -> DeadLetterFilter {
        let ids = self.id.into_iter().collect();
        DeadLetterFilter { queue: Some(self.queue.clone()), ids, ..DeadLetterFilter::default() }
    }

    /// What it means, for people.
    pub(crate) fn described(&self) -> String {
        match (&self.id, &self.class) {
            (Some(id), _) => format!("the dead letter {id} of the queue {}", self.queue),
            (None, Some(class)) => {
                format!("dead letters of the queue {} whose error is “{class}”", self.queue)
            }
            (None, None) => format!("all dead letters of the queue {}", self.queue),
        }
    }

    /// What it means, for the audit log: without the words of an error, which come from messages.
    pub(crate) fn subject(&self) -> String {
        match (&self.id, &self.class) {
            (Some(id), _) => format!("dead letter {id} of queue {}", self.queue),
            (None, Some(_)) => format!("dead letters of one error of queue {}", self.queue),
            (None, None) => format!("dead letters of queue {}", self.queue),
        }
    }

    /// The values by which an address or a form names it.
    pub(crate) fn values(&self) -> Vec<(&'static str, String)> {
        let queue = [("queue", self.queue.to_string())].into_iter();
        let class = self.class.iter().map(|class| ("class", class.to_string()));
        queue.chain(class).chain(self.id.iter().map(|id| ("id", id.to_string()))).collect()
    }
}

impl NamedSelection {
    /// The selection that a form names.
    pub(crate) fn new(queue: Option<String>, class: Option<String>, id: Option<Uuid>) -> Self {
        Self { queue, class, id, after: None }
    }

    /// The queue, if there is one; a sentence if it has no name of a queue.
    pub(crate) fn queue(&self) -> Result<Option<QueueName>, String> {
        let named = self.queue.as_deref().filter(|name| !name.is_empty());
        named.map(|name| QueueName::new(name).map_err(|e| e.to_string())).transpose()
    }

    /// What it means, or a sentence that says why it means nothing.
    pub(crate) fn read(&self) -> Result<Selection, String> {
        let queue = self.queue()?.ok_or("Choose a queue first.")?;
        // A class is its own class, so that no other text can be one.
        let class = self.class.as_deref().map(|class| ErrorClass::of(&Reason::new(class)));
        Ok(Selection { queue, class, id: self.id.map(MessageId::new) })
    }
}
