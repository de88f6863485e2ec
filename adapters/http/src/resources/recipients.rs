use std::{future::ready, sync::Arc};

use axum::extract::{self, Path, Query, rejection::QueryRejection};
use claimstream_domain::{
    Invalid,
    notification::{
        Attributes, DirectoryEntry, Recipient, SegmentPlace,
        consent::{Address, TimeZone, spellings_named},
    },
};
use claimstream_ports::notification::Erased;
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ArrayBuilder, RefOr, Schema},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    limit, query,
    refusals::{BodyProblems, ChangeBodyProblems, ReadProblems},
};
use crate::{
    caller::{Admin, Caller, Read},
    json::{self, Json},
    payload::Payload,
    problem::{Fault, Problem},
    state::AppState,
};

/// The routes of recipients: the directory, and erasure.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(lookup)).routes(routes!(show, put, erase))
}

/// The user that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("id"))]
#[allow(dead_code, reason = "it is described and never made")]
pub(super) struct UserId(#[param(min_length = 1, max_length = 128)] String);

/// Which page of users.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UsersQuery {
    /// The `next` of the page before.
    after: Option<String>,
    /// The most users, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of users.
#[derive(Serialize, ToSchema)]
struct RecipientPage {
    recipients: Vec<RecipientBody>,
    /// Where the next page begins; `null` if there is none.
    #[schema(required)]
    next: Option<String>,
    /// The ids of users whose entries cannot be read.
    unreadable: Vec<String>,
}

/// A user of the directory.
#[derive(Serialize, Deserialize, Default, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Person)]
pub(super) struct RecipientBody {
    /// The user's id; it may be left out of a body, where the path has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "u-1")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
    /// The language to write in, such as `de`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// The zone of its quiet hours, such as `Europe/Berlin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    time_zone: Option<TimeZone>,
    /// What templates may read besides.
    #[serde(default)]
    #[schema(value_type = Object)]
    attributes: Attributes,
}

/// The users that are asked for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LookupRecipients)]
struct LookupBody {
    /// Their ids, at most 500.
    #[schema(max_items = 500)]
    users: Vec<String>,
}

/// Users of the directory.
#[derive(Serialize, ToSchema)]
struct FoundPage {
    recipients: Vec<RecipientBody>,
    /// The ids of users whose entries cannot be read.
    unreadable: Vec<String>,
}

/// A user, and the segments that it is in.
#[derive(Serialize)]
struct EntryShown {
    #[serde(flatten)]
    recipient: RecipientBody,
    segments: Vec<String>,
}

/// What only the caller knows of a user that is forgotten.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Erasure)]
struct ErasureBody {
    /// Addresses of a user of another directory, such as `email:ann@example.com`; of those that are suppressed a hash stays.
    #[serde(default)]
    #[schema(max_items = 500)]
    addresses: Vec<String>,
}

/// How much was erased.
#[derive(Serialize, ToSchema)]
struct ErasedShown {
    /// Requests that named the recipient.
    requests: u64,
    /// Records of the recipient.
    records: u64,
    /// Payloads of messages to the recipient that were queued or finished.
    payloads: u64,
    /// Payloads of messages to the recipient that were dead letters.
    dead_letters: u64,
}

/// Lists the users of the directory by id.
#[utoipa::path(get, path = "/v1/recipients", operation_id = "list_recipients", tag = "recipients", params(UsersQuery), responses(
    (status = 200, description = "A page", body = RecipientPage),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn list(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    page: Result<Query<UsersQuery>, QueryRejection>,
) -> Result<Json<RecipientPage>, Problem> {
    let UsersQuery { after, limit: most } = query(page)?;
    let (most, from) = (limit(most.as_deref())?, SegmentPlace::from(after));
    let page = state.ask(state.stores.people.directory()?.users.list(&from, most)).await?;
    let recipients = page.members.into_iter().map(RecipientBody::of).collect();
    Ok(Json(RecipientPage { recipients, unreadable: page.unreadable, next: page.next }))
}

/// Shows many users of the directory; those that it does not know are left out.
#[utoipa::path(post, path = "/v1/lookup", operation_id = "look_up_recipients", tag = "recipients", request_body = LookupBody, responses(
    (status = 200, description = "The users that it knows", body = FoundPage),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    BodyProblems,
))]
async fn lookup(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    payload: Payload,
) -> Result<Json<FoundPage>, Problem> {
    const MOST: usize = 500;
    let LookupBody { users } = json::read(&payload.headers, &payload.bytes)?;
    if users.len() > MOST {
        return Err(Problem::invalid(Fault::at("/users", format!("it has at most {MOST} ids"))));
    }
    let found = state.ask(state.stores.people.directory()?.segments.users(&users)).await?;
    let recipients = found.users.into_iter().flatten().map(RecipientBody::of).collect();
    Ok(Json(FoundPage { recipients, unreadable: found.unreadable }))
}

/// Shows a user of the directory, and the segments that it is in.
#[utoipa::path(get, path = "/v1/recipients/{id}", operation_id = "show_recipient", tag = "recipients", params(UserId), responses(
    (status = 200, description = "The user", body = EntryShown),
    (status = 404, description = "The directory does not know this user", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn show(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
) -> Result<Json<EntryShown>, Problem> {
    let entry = state.ask(state.stores.people.directory()?.users.entry(&id)).await?;
    let DirectoryEntry { user, segments } = entry.ok_or_else(Problem::unknown_recipient)?;
    Ok(Json(EntryShown { recipient: RecipientBody::of(user), segments }))
}

/// Puts a user into the directory, in place of the entry that its id has; its segments stay as they are.
#[utoipa::path(put, path = "/v1/recipients/{id}", operation_id = "put_recipient", tag = "recipients", params(UserId), request_body = RecipientBody, responses(
    (status = 200, description = "It is kept", body = RecipientBody),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    ChangeBodyProblems,
))]
async fn put(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<RecipientBody>, Problem> {
    let body: RecipientBody = json::read(&payload.headers, &payload.bytes)?;
    let user = body.into_user(&id)?;
    let directory = state.stores.people.directory()?;
    state.ask(directory.users.put(std::slice::from_ref(&user), None)).await?;
    tracing::debug!(caller = caller.name, "recipient put");
    Ok(Json(RecipientBody::of(user)))
}

/// Forgets a user: its entry in the directory, what it wants, and its addresses and content in all requests and messages. Counts stay.
///
/// Suppressed addresses of a user of another directory stay readable, unless the body or a payload names them. It may be repeated, also for a user that no directory knows. It takes as long as it takes to look through all that is kept, and is carried
/// out even if the caller stops waiting.
#[utoipa::path(delete, path = "/v1/recipients/{id}", operation_id = "erase_recipient", tag = "recipients", params(UserId), request_body = Option<ErasureBody>, responses(
    (status = 200, description = "It is forgotten", body = ErasedShown),
    ChangeBodyProblems,
))]
async fn erase(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<ErasedShown>, Problem> {
    check_id(&id)?;
    let body = match payload.bytes.is_empty() {
        true => None,
        false => json::read::<Option<ErasureBody>>(&payload.headers, &payload.bytes)?,
    };
    let addresses = body.map_or(Ok(Vec::new()), |body| body.spellings())?;
    let key = key_of(&id);
    let erase = Arc::clone(&state.stores.people.erase);
    // It looks through everything that is kept, so it has no limit of time, and goes on if its caller leaves: the next call would begin from the start.
    let erased = tokio::spawn(async move { erase.erase(&key, &addresses).await }).await;
    let erased =
        erased.map_err(|_| Problem::unavailable("the erasure broke off; send the same call again"))?;
    let Erased { requests, records, bodies, dead_letters } = state.ask(ready(erased)).await?;
    tracing::info!(requests, records, caller = caller.name, "recipient erased");
    Ok(Json(ErasedShown { requests, records, payloads: bodies, dead_letters }))
}

pub(super) fn check_id(id: &str) -> Result<(), Problem> {
    DirectoryEntry::check_id(id).map_err(|why| Problem::invalid(Fault::parameter("id", why.to_string())))
}

impl ToSchema for EntryShown {}

impl PartialSchema for EntryShown {
    /// One object: a body with fields of its own refuses all others, so it cannot be a part of a description.
    fn schema() -> RefOr<Schema> {
        let mut shape = RecipientBody::schema();
        if let RefOr::T(Schema::Object(object)) = &mut shape {
            let segments = ArrayBuilder::new().items(String::schema());
            let segments =
                segments.description(Some("The segments that it is in, by name; the first 1,000."));
            object.properties.insert("segments".into(), Schema::from(segments).into());
            object.required = vec!["attributes".into(), "segments".into()];
            object.description = Some("A user of the directory, and the segments that it is in.".into());
        }
        shape
    }
}

/// The key under which everything about a user is kept.
pub(super) fn key_of(id: &str) -> String {
    Recipient::user(id).key
}

impl ErasureBody {
    const MOST: usize = 500;

    /// The addresses in each spelling that rows may be kept under.
    fn spellings(&self) -> Result<Vec<Address>, Problem> {
        if self.addresses.len() > Self::MOST {
            let why = format!("it has at most {} addresses", Self::MOST);
            return Err(Problem::invalid(Fault::at("/addresses", why)));
        }
        let spellings: Vec<_> = self.addresses.iter().map(|text| spellings_named(text)).collect();
        match spellings.iter().position(Vec::is_empty) {
            Some(n) => {
                let why = "write a channel and an address, such as email:ann@example.com";
                Err(Problem::invalid(Fault::at(format!("/addresses/{n}"), why)))
            }
            None => Ok(spellings.concat()),
        }
    }
}

impl RecipientBody {
    pub(super) fn of(recipient: Recipient) -> Self {
        let Recipient {
            user,
            email,
            phone,
            device_token,
            webhook,
            chat,
            language,
            time_zone,
            attributes,
            key: _,
        } = recipient;
        Self { user, email, phone, device_token, webhook, chat, language, time_zone, attributes }
    }

    fn into_user(self, id: &str) -> Result<Recipient, Problem> {
        if self.user.as_deref().is_some_and(|given| given != id) {
            let why = "it must be the id of the path, or be left out";
            return Err(Problem::invalid(Fault::at("/user", why)));
        }
        let Self { user: _, email, phone, device_token, webhook, chat, language, time_zone, attributes } =
            self;
        let (key, user) = (key_of(id), Some(id.to_owned()));
        let user = Recipient {
            key,
            user,
            email,
            phone,
            device_token,
            webhook,
            chat,
            language,
            time_zone,
            attributes,
        };
        DirectoryEntry::check_user(&user).map_err(|e| refused(&e))?;
        Ok(user)
    }
}

/// The fault of a user, at the field that its sentence begins with.
fn refused(invalid: &Invalid) -> Problem {
    let why = invalid.to_string();
    let fields = ["email", "phone", "device_token", "webhook", "chat", "language"];
    let at = fields.into_iter().find(|field| why.starts_with(field));
    Problem::invalid(match at {
        Some(field) => Fault::at(format!("/{field}"), why),
        None => Fault::parameter("id", why),
    })
}
