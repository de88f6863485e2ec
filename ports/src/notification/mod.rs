//! Ports of the notification pipelines: requests and their records, recipients, templates and providers.

mod attempt_log;
mod channel_provider;
mod digest_repository;
mod directory_repository;
mod erase_recipient;
mod in_app_inbox;
mod list_requests;
mod preferences;
mod prepared;
mod rate_limiter;
mod receipts;
mod recipient_directory;
mod requests;
mod template_source;
mod template_store;

pub use attempt_log::{AttemptLog, DeliveryAttempt};
pub use channel_provider::{ChannelProvider, Delivered, DeliveryError};
pub use digest_repository::{DigestPlace, DigestRepository};
pub use directory_repository::DirectoryRepository;
pub use erase_recipient::{EraseRecipient, Erased};
pub use in_app_inbox::InAppInbox;
pub use list_requests::{ListRequests, RequestFilter, RequestListed, RequestPage};
pub use preferences::{ConsentsRead, PreferenceRepository, Suppressions, refused_change};
pub use prepared::Prepared;
pub use rate_limiter::RateLimiter;
pub use receipts::DeliveryReceipts;
pub use recipient_directory::{FoundUsers, RecipientDirectory, SegmentPage};
pub use requests::{
    BeingTakenIn, Cancelled, CancelledMessages, DeliveryState, FanOutStep, MessageOutcome, MessageRepository,
    MissingRecord, NotificationReports, RequestRead, RequestRepository, StepNoted, SubmitRequests,
    UnreadableRequest, restoring,
};
pub use template_source::TemplateSource;
pub use template_store::{
    NewTemplateVersion, TemplateDraft, TemplateListed, TemplateStore, TemplateVersionListed,
};

/// The mocks of these ports; the module `mock` of the root exports them.
#[cfg(feature = "mock")]
pub(crate) mod mock {
    pub use super::{
        attempt_log::MockAttemptLog,
        digest_repository::MockDigestRepository,
        directory_repository::MockDirectoryRepository,
        erase_recipient::MockEraseRecipient,
        in_app_inbox::MockInAppInbox,
        list_requests::MockListRequests,
        preferences::{MockPreferenceRepository, MockSuppressions},
        rate_limiter::MockRateLimiter,
        receipts::MockDeliveryReceipts,
        recipient_directory::MockRecipientDirectory,
        requests::{MockMessageRepository, MockNotificationReports, MockRequestRepository},
        template_source::MockTemplateSource,
    };
}
