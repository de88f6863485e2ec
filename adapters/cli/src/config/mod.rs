//! The configuration: what can be set, what it is unless set, and where each value came from.
//!
//! A value is written in a TOML file, in the environment as `CLAIMSTREAM_SECTION__KEY`, or on the command line; each is
//! stronger than the one before. `claimstream.example.toml` documents every key.

mod assignment;
mod attachment_settings;
mod board;
mod broker_url;
mod capability_list;
mod channel;
mod channel_settings;
mod claiming;
mod configuration;
mod consents;
mod contradiction;
mod database;
mod database_url;
mod databases;
mod digests;
mod error;
mod file;
mod gateway_settings;
mod keys;
mod loaded;
mod log;
mod notifications;
mod otlp;
mod people;
mod printed;
mod probes;
mod provider_list;
mod publishing;
mod receipt_settings;
mod relay;
mod retry;
mod secret;
mod serve;
mod setting;
mod source;
mod target_settings;
mod templates;
mod wakeup_choice;

pub use self::{
    assignment::Origin,
    attachment_settings::AttachmentSettings,
    board::{BoardSettings, HostNames},
    broker_url::BrokerUrl,
    capability_list::CapabilityList,
    channel::Channels,
    channel_settings::{ChannelSettings, ProviderChoice},
    claiming::{ClaimingChoice, LockPlace},
    configuration::Config,
    consents::{CategoryHours, CategoryList, ConsentSettings},
    database::DatabaseSettings,
    database_url::DatabaseUrl,
    databases::{DatabaseName, Databases, NamedDatabase},
    digests::CategoryDigests,
    error::ConfigError,
    gateway_settings::{AuthChoice, GatewaySettings},
    loaded::Loaded,
    log::{Log, LogFormat, LogLevel},
    notifications::NotificationSettings,
    otlp::Otlp,
    people::{DirectorySettings, DirectorySource},
    probes::Probes,
    provider_list::ProviderList,
    publishing::{Publishing, copy_queue},
    receipt_settings::{ReceiptProof, ReceiptSettings},
    relay::Relay,
    secret::{Secret, SecretSource},
    serve::Serve,
    source::Sources,
    target_settings::{EventChoice, TargetName, TargetSettings},
    templates::{TemplatePlace, Templates},
    wakeup_choice::WakeupChoice,
};
pub(crate) use self::{
    keys::nearest,
    setting::{Setting, quoted},
};
