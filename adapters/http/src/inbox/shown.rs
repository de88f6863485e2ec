use claimstream_domain::notification::InAppEntry;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// An entry of an inbox.
#[derive(Serialize, ToSchema)]
#[schema(as = InboxEntry)]
pub(crate) struct EntryShown {
    id: Uuid,
    /// The notification that it came from.
    notification: Uuid,
    #[schema(required)]
    title: Option<String>,
    #[schema(required)]
    body: Option<String>,
    /// The body as a page; show it in a frame of its own, or clean it.
    #[schema(required)]
    html: Option<String>,
    /// Where a click leads.
    #[schema(required)]
    redirect_url: Option<String>,
    /// A picture.
    #[schema(required)]
    image_url: Option<String>,
    /// Whether the user has read it.
    read: bool,
    /// How long ago it came, in milliseconds.
    age_ms: u64,
}

impl EntryShown {
    pub(crate) fn of(InAppEntry { entry, age, is_read }: &InAppEntry) -> Self {
        let content = entry.content.clone();
        Self {
            id: entry.id,
            notification: entry.request_id,
            title: content.title,
            body: content.body,
            html: content.html,
            redirect_url: content.redirect_url,
            image_url: content.image_url,
            read: *is_read,
            age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
