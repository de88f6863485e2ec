use claimstream_domain::{
    DedupKeyTaken, MessageId, MessageState,
    notification::{InAppEntry, InAppPage},
};

use crate::{known_message::KnownMessage, question::Question, refusal::Refusal, stores::BoardStores};

/// Answers questions along the indexes of the stores.
pub(crate) struct Search<'a> {
    stores: &'a BoardStores,
}

/// What a question has found.
pub(crate) enum SearchResult {
    /// The page of this path.
    Page(String),
    /// The message that has taken a dedup key.
    Key(DedupKeyTaken),
    /// The newest messages of an inbox.
    Inbox(Vec<InAppEntry>),
    /// Nothing; why that may be.
    Nothing(String),
}

impl<'a> Search<'a> {
    /// How many messages of an inbox are shown.
    const ENTRIES: u32 = 50;

    pub(crate) fn on(stores: &'a BoardStores) -> Self {
        Self { stores }
    }

    pub(crate) async fn answer(&self, question: &Question) -> Result<SearchResult, Refusal> {
        match question {
            Question::Id(id) => self.by_id(*id).await,
            Question::DedupKey(queue, key) => {
                let taken =
                    self.stores.messages().ok_or_else(Refusal::no_such_page)?.read.keyed(queue, key).await?;
                Ok(taken.map_or_else(|| nothing(NO_KEY), SearchResult::Key))
            }
            Question::Inbox(user) => self.inbox(user).await,
        }
    }

    async fn by_id(&self, id: MessageId) -> Result<SearchResult, Refusal> {
        let Some(known) = KnownMessage::of(self.stores, id).await? else { return Ok(nothing(NO_ID)) };
        let is_dead = known.standing.as_ref().is_some_and(|it| matches!(it.state, MessageState::Dead { .. }));
        let path = match (&known.notification.request, is_dead) {
            (Some(_), _) => format!("/requests/{id}"),
            (None, true) => format!("/dead/letters/{id}"),
            (None, false) => format!("/message/{id}"),
        };
        Ok(SearchResult::Page(path))
    }

    async fn inbox(&self, user: &str) -> Result<SearchResult, Refusal> {
        let Some(notifications) = self.stores.notifications() else { return Ok(nothing(NO_NOTIFICATIONS)) };
        let page = InAppPage { user: user.to_owned(), only_unread: false, after: None, limit: Self::ENTRIES };
        let entries = notifications.inboxes.page(&page).await?;
        Ok(if entries.is_empty() { nothing(NO_INBOX) } else { SearchResult::Inbox(entries) })
    }
}

fn nothing(why: &str) -> SearchResult {
    SearchResult::Nothing(why.to_owned())
}

const NO_ID: &str = "Nothing has this id. Bodies of handled messages, and requests that are settled, are kept until a sweep deletes them.";
const NO_KEY: &str =
    "No message has taken this key in this queue. Keys are kept for as long as the retention says.";
const NO_INBOX: &str = "The inbox of this user is empty. No index leads from a recipient to messages of other channels: look for the request by its id, or in \
     the list of requests by its requester.";
const NO_NOTIFICATIONS: &str = "This board shows no notifications, so it knows no recipients. Look for the id of a message, or for its dedup key.";
