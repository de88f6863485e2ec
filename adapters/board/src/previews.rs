use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::AuditAction;
use uuid::Uuid;

use crate::selection::Selection;

/// What was shown to a user before it is done. Each is confirmed once, by the user who asked for it.
#[derive(Default)]
pub(crate) struct Previews(Mutex<HashMap<Uuid, Preview>>);

/// Dead letters that are to be revived or purged.
#[derive(Clone, Debug)]
pub(crate) struct Preview {
    pub(crate) action: Action,
    pub(crate) selection: Selection,
    /// The user who asked for it.
    pub(crate) by: String,
    /// When that was, by the timer of the board. What died later was not shown, and is left alone.
    pub(crate) at: Duration,
}

/// What is done with dead letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// They are tried again.
    Revive,
    /// They are deleted.
    Purge,
}

impl Action {
    /// The action of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Revive, Self::Purge].into_iter().find(|action| action.name() == name)
    }

    /// Its name in forms.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Revive => "revive",
            Self::Purge => "purge",
        }
    }

    /// Its name in titles.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Revive => "Revive",
            Self::Purge => "Purge",
        }
    }

    /// What the audit log says before it is done.
    pub(crate) fn begins(self) -> AuditAction {
        match self {
            Self::Revive => AuditAction::Revive,
            Self::Purge => AuditAction::Purge,
        }
    }

    /// What the audit log says after it was done.
    pub(crate) fn has_ended(self) -> AuditAction {
        match self {
            Self::Revive => AuditAction::Revived,
            Self::Purge => AuditAction::Purged,
        }
    }

    /// What it has done.
    pub(crate) fn done(self) -> &'static str {
        match self {
            Self::Revive => "revived",
            Self::Purge => "purged",
        }
    }
}

impl Previews {
    /// How long a preview can be confirmed.
    pub(crate) const LAST: Duration = Duration::from_secs(15 * 60);
    const MOST: usize = 200;

    /// Keeps a preview, and answers its name.
    pub(crate) fn keep(&self, preview: Preview) -> Uuid {
        let (mut previews, now) = (self.lock(), preview.at);
        previews.retain(|_, preview| now.saturating_sub(preview.at) < Self::LAST);
        if previews.len() >= Self::MOST {
            let first = previews.iter().min_by_key(|(_, preview)| preview.at).map(|(id, _)| *id);
            first.map(|id| previews.remove(&id));
        }
        let id = Uuid::new_v4();
        previews.insert(id, preview);
        id
    }

    /// Takes a preview away to carry it out; `None` if it is too old, was confirmed before, or is another user's.
    pub(crate) fn take(&self, id: Uuid, by: &str, now: Duration) -> Option<Preview> {
        let mut previews = self.lock();
        let is_its = |preview: &Preview| preview.by == by && now.saturating_sub(preview.at) < Self::LAST;
        let is_there = previews.get(&id).is_some_and(is_its);
        is_there.then(|| previews.remove(&id)).flatten()
    }

    /// Keeps a preview that was taken and not carried out, so that it can still be confirmed.
    pub(crate) fn put_back(&self, id: Uuid, preview: Preview) {
        self.lock().insert(id, preview);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Preview>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::QueueName;

    use super::*;

    fn preview(by: &str, at: Duration) -> Preview {
        let selection = Selection { queue: QueueName::new("q").unwrap(), class: None, id: None };
        Preview { action: Action::Purge, selection, by: by.into(), at }
    }

    /// Guard: a preview is used up by its confirmation | `take`: it stays
    #[test]
    fn a_preview_is_confirmed_once_in_time_and_by_the_one_who_saw_it() {
        let (previews, asked) = (Previews::default(), Duration::from_secs(7));
        let (one, other) = (previews.keep(preview("ann", asked)), previews.keep(preview("ann", asked)));
        assert!(previews.take(one, "bob", asked).is_none());
        assert!(previews.take(one, "ann", asked).is_some() && previews.take(one, "ann", asked).is_none());
        let late = asked + Previews::LAST;
        assert!(previews.take(other, "ann", late).is_none());
        for _ in 0..300 {
            previews.keep(preview("ann", late));
        }
        assert_eq!(previews.lock().len(), Previews::MOST);
    }
}
