//! Ports of the notification pipelines: requests and their records, recipients, templates and providers.

mod channel_provider;
mod recipient_directory;
mod requests;
mod template_source;

pub use channel_provider::{ChannelProvider, Delivered, DeliveryError};
pub use recipient_directory::RecipientDirectory;
pub use requests::{
    Cancelled, FanOutStep, MessageOutcome, MessageRepository, NotificationReports, RequestRead,
    RequestRepository, StepNoted, SubmitRequests,
};
pub use template_source::TemplateSource;
