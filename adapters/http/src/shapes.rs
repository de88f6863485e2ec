//! The shapes of the domain's types, as the description of the API shows them; tests compare them with what is read.
#![allow(dead_code, reason = "they are described and never made")]

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// The requester of a notification.
#[derive(ToSchema)]
pub(crate) struct Requester {
    /// What kind of requester.
    #[schema(rename = "type")]
    kind: RequesterKind,
    /// Which one, at most 128 bytes.
    #[schema(min_length = 1, max_length = 128)]
    id: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum RequesterKind {
    User,
    Admin,
    Service,
}

/// Where a notification itself says that it stands.
#[derive(ToSchema)]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum RecordedStatus {
    Pending,
    Processing,
    Dispatched,
    Failed,
    Cancelled,
}

/// One of a user, a segment and a recipient given by address.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Recipient {
    /// A user that the directory knows.
    User {
        #[schema(min_length = 1, max_length = 128)]
        user: String,
    },
    /// A named group of users that the directory knows.
    Segment {
        #[schema(min_length = 1, max_length = 128)]
        segment: String,
    },
    /// A recipient given by address; at least one.
    Direct {
        #[schema(min_length = 1, max_length = 2048)]
        email: Option<String>,
        #[schema(min_length = 1, max_length = 2048)]
        phone: Option<String>,
        #[schema(min_length = 1, max_length = 2048)]
        device_token: Option<String>,
        #[schema(min_length = 1, max_length = 2048)]
        webhook: Option<String>,
        #[schema(min_length = 1, max_length = 2048)]
        chat: Option<String>,
        language: Option<String>,
    },
}

/// A way to reach a recipient.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Channel {
    Email,
    Sms,
    Push,
    Webhook,
    Chat,
    InApp,
}

/// What a recipient reads: a title, a body, or both.
#[derive(ToSchema)]
pub(crate) struct Content {
    /// The subject line, at most 1,024 bytes.
    #[schema(min_length = 1, max_length = 1024)]
    title: Option<String>,
    /// The text, at most 65,536 bytes.
    #[schema(min_length = 1, max_length = 65536)]
    body: Option<String>,
    /// The same as a page, for channels that show one, at most 262,144 bytes.
    #[schema(min_length = 1, max_length = 262144)]
    html: Option<String>,
    /// Where a click leads.
    #[schema(min_length = 1, max_length = 2048)]
    redirect_url: Option<String>,
    /// A picture.
    #[schema(min_length = 1, max_length = 2048)]
    image_url: Option<String>,
    /// Files that go with it, at most 16.
    #[schema(max_items = 16, required = false)]
    attachments: Vec<Attachment>,
}

/// How urgent a notification is. Each priority has queues of its own.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Priority {
    /// It passes everything else and knows no quiet hours.
    High,
    Normal,
    /// A campaign.
    Low,
}

/// A file that goes with a notification.
#[derive(ToSchema)]
pub(crate) struct Attachment {
    /// Where it is.
    #[schema(min_length = 1, max_length = 2048)]
    url: String,
    /// What the recipient sees as its name.
    #[schema(min_length = 1, max_length = 255)]
    name: String,
    /// Such as `application/pdf`; what the server says if none is given.
    #[schema(min_length = 1, max_length = 127)]
    content_type: Option<String>,
}

/// The sender on one channel; an address, a name, or both.
#[derive(ToSchema)]
pub(crate) struct Sender {
    /// An address of the channel: a mail address, a phone number.
    #[schema(min_length = 1, max_length = 320)]
    address: Option<String>,
    /// What the recipient sees.
    #[schema(min_length = 1, max_length = 255)]
    name: Option<String>,
}

/// The use of a template: which one, and what its variables stand for.
#[derive(ToSchema)]
pub(crate) struct TemplateCall {
    /// The template's id.
    #[schema(min_length = 1, max_length = 128)]
    id: String,
    /// The value of each variable.
    #[schema(required = false)]
    params: BTreeMap<String, String>,
}

/// What a template says, on all its channels and in all its languages, and which variables it has.
#[derive(ToSchema)]
pub(crate) struct Template {
    /// The language of those whose own has no text.
    #[schema(example = "en")]
    default_language: String,
    /// Its variables by name.
    variables: Option<BTreeMap<String, TemplateVariable>>,
    /// The texts by channel and language.
    texts: BTreeMap<String, BTreeMap<String, TemplateText>>,
}

/// A variable that a caller gives a value to.
#[derive(ToSchema)]
pub(crate) struct TemplateVariable {
    /// Its value where the caller gives none; a variable without it must be given one.
    default: Option<String>,
    /// What it stands for, for people.
    description: Option<String>,
}

/// What a template says on one channel in one language.
#[derive(ToSchema)]
pub(crate) struct TemplateText {
    /// The subject line.
    title: Option<String>,
    /// The text.
    #[schema(example = "Hello {{ name }}")]
    body: String,
    /// The same as a page, for channels that show one.
    html: Option<String>,
}

/// A version of a template, with copies of the templates that it includes.
#[derive(ToSchema)]
pub(crate) struct TemplateVersion {
    id: String,
    number: u32,
    template: Template,
    /// What it includes, by id.
    #[schema(required = false)]
    partials: BTreeMap<String, Template>,
}

/// The number of a version, or the word for the one that is sent.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum VersionNumber {
    Number(u32),
    Latest(#[schema(inline)] LatestVersion),
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LatestVersion {
    Latest,
}

/// What a recipient wants: what it opted out of, where it lives, and when it is not to be disturbed.
#[derive(ToSchema)]
pub(crate) struct Preferences {
    /// What it wants and does not want; everything else is allowed. At most 500.
    #[schema(max_items = 500, required = false)]
    rules: Vec<PreferenceRule>,
    /// The zone of its quiet hours, such as `Europe/Berlin`.
    time_zone: Option<String>,
    /// Its quiet hours, such as `22:00-08:00`.
    quiet_hours: Option<String>,
}

/// What a recipient wants of a channel, of a category, or of a category on a channel.
#[derive(ToSchema)]
pub(crate) struct PreferenceRule {
    /// The channel; every one if none.
    channel: Option<Channel>,
    /// The category; every one, and what has none, if none.
    category: Option<String>,
    /// Whether it is allowed.
    allowed: bool,
}

/// Why an address must not be written to.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Suppression {
    /// Its owner asked for it. What a category requires is sent all the same.
    Unsubscribed,
    /// There is no such address.
    Bounced,
    /// Its owner reported a message as spam.
    Complained,
}
