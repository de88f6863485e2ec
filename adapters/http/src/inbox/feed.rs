use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::response::sse::Event;
use claimstream_domain::notification::{InAppEntry, InAppPage};
use claimstream_ports::{StoreError, Timer, notification::InAppInbox};
use uuid::Uuid;

use super::{Cursor, EntryShown, listeners::Listener};

/// The events of one listener: first what it has missed, then what is new.
pub(crate) struct Feed {
    listener: Listener,
    /// What is known and to be sent, the oldest first.
    ready: VecDeque<Ready>,
    /// What was sent or was there before, the newest first.
    sent: VecDeque<(Uuid, Duration)>,
    timer: Arc<dyn Timer>,
    /// By the timer.
    until: Duration,
}

enum Ready {
    Entry(Arc<InAppEntry>),
    /// What the listener has missed cannot be listed; it reads the inbox again.
    Reset,
}

impl Feed {
    /// How long a client waits before it comes again.
    const RETRY: Duration = Duration::from_secs(2);

    /// Reads what a listener has missed since its cursor; one without a cursor has missed nothing. The listener is registered
    /// already, so what comes meanwhile is not lost.
    pub(crate) async fn begin(
        listener: Listener,
        inbox: &dyn InAppInbox,
        user: &str,
        cursor: Option<Cursor>,
        timer: Arc<dyn Timer>,
        until: Duration,
    ) -> Result<Self, StoreError> {
        let page = InAppPage { user: user.to_owned(), only_unread: false, after: None, limit: Cursor::PAGE };
        let entries = inbox.page(&page).await?;
        let missed: Option<Vec<&InAppEntry>> = match &cursor {
            None => Some(Vec::new()),
            Some(cursor) => cursor.missed(&entries),
        };
        let ready: VecDeque<Ready> = match missed {
            Some(missed) => missed.into_iter().rev().map(|one| Ready::Entry(Arc::new(one.clone()))).collect(),
            None => VecDeque::from([Ready::Reset]),
        };
        let now = timer.now();
        // What is there was sent, is about to be, or is none of this listener's business.
        let lately = entries.iter().filter(|one| one.age <= Cursor::MARKED);
        let unsent: Vec<Uuid> = ready.iter().filter_map(Ready::id).collect();
        let sent =
            lately.map(|one| one.entry.id).filter(|id| !unsent.contains(id)).map(|id| (id, now)).collect();
        Ok(Self { listener, ready, sent, timer, until })
    }

    /// The next event; none when the listener has to come again.
    pub(crate) async fn next(&mut self) -> Option<Result<Event, Infallible>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                if let Some(event) = self.event(ready) {
                    return Some(Ok(event));
                }
                continue;
            }
            let left = self.until.saturating_sub(self.timer.now());
            tokio::select! {
                () = self.timer.sleep(left) => return None,
                entry = self.listener.entries.recv() => self.ready.push_back(Ready::Entry(entry?)),
            }
        }
    }

    fn event(&mut self, ready: Ready) -> Option<Event> {
        let event = Event::default().retry(Self::RETRY);
        let Ready::Entry(entry) = ready else {
            return Some(event.event("reset").data("read the inbox again"));
        };
        let (id, now) = (entry.entry.id, self.timer.now());
        if self.sent.iter().any(|(sent, _)| *sent == id) {
            return None;
        }
        self.sent.push_front((id, now));
        self.sent.retain(|(_, at)| now.saturating_sub(*at) <= Cursor::MARKED);
        let cursor = Cursor::after(self.sent.iter().map(|(id, _)| *id))?;
        event.event("entry").id(cursor.to_string()).json_data(EntryShown::of(&entry)).ok()
    }
}

impl Ready {
    fn id(&self) -> Option<Uuid> {
        match self {
            Self::Entry(entry) => Some(entry.entry.id),
            Self::Reset => None,
        }
    }
}
