use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::extract::{self, Path, Query, rejection::QueryRejection};
use claimstream_domain::notification::{
    Channel, Content, Recipient, Template, TemplateCall, TemplateVersion,
};
use claimstream_ports::notification::{TemplateListed, TemplateVersionListed};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    limit, query,
    refusals::{ChangeBodyProblems, ReadProblems},
    template_body::TemplateBody,
};
use crate::{
    caller::{Admin, Caller, Read},
    json::{self, Json},
    payload::Payload,
    problem::{Fault, Problem},
    shapes,
    state::AppState,
    templates::{TemplateDesk, TemplateRefusal},
};

/// The routes of templates.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, save))
        .routes(routes!(version))
        .routes(routes!(publish))
        .routes(routes!(preview))
}

/// The template that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("id"))]
#[allow(dead_code, reason = "it is described and never made")]
struct TemplateId(#[param(min_length = 1, max_length = 128)] String);

/// Which page of templates.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TemplatesQuery {
    /// The `next` of the page before.
    after: Option<String>,
    /// The most templates, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of templates.
#[derive(Serialize, ToSchema)]
struct TemplatePage {
    templates: Vec<TemplateSummary>,
    /// Where the next page begins; `null` if there is none.
    #[schema(required)]
    next: Option<String>,
}

/// A template in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = TemplateListed)]
struct TemplateSummary {
    #[schema(example = "order-paid")]
    id: String,
    /// How often its draft has changed.
    revision: u32,
    /// How long ago the draft was changed, in milliseconds.
    age_ms: u64,
    /// The number of the version that is sent; `null` if none was published.
    #[schema(required)]
    published: Option<u32>,
}

/// A template: its draft, and which versions there are.
#[derive(Serialize, ToSchema)]
struct TemplateShown {
    #[schema(example = "order-paid")]
    id: String,
    /// How often its draft has changed.
    revision: u32,
    /// How long ago the draft was changed, in milliseconds.
    age_ms: u64,
    /// The draft.
    #[schema(value_type = shapes::Template)]
    draft: Template,
    /// The newest versions, the newest first; the first one is sent.
    versions: Vec<VersionListed>,
}

/// A version in a list.
#[derive(Serialize, ToSchema)]
struct VersionListed {
    number: u32,
    /// The older version that it repeats, if it took another one back.
    #[schema(required)]
    restores: Option<u32>,
    /// How long ago it was published, in milliseconds.
    age_ms: u64,
}

/// A draft that was kept.
#[derive(Serialize, ToSchema)]
struct Saved {
    id: String,
    /// How often the draft has changed.
    revision: u32,
}

/// What to publish.
#[derive(Deserialize, Default, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PublishTemplate)]
struct PublishBody {
    /// An older version, to be published again; the draft unless given.
    #[serde(default)]
    version: Option<u32>,
}

/// A version that is sent now.
#[derive(Serialize, ToSchema)]
struct PublishedVersion {
    id: String,
    number: u32,
    /// Whether this call has published it; it was there if nothing had changed.
    is_new: bool,
}

/// Whom to preview a template for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PreviewTemplate)]
struct PreviewBody {
    #[schema(value_type = shapes::Channel)]
    channel: Channel,
    /// The recipient's language; the template's default language unless given.
    #[serde(default)]
    language: Option<String>,
    /// The value of each variable.
    #[serde(default)]
    params: BTreeMap<String, String>,
    /// What the directory would know of the recipient besides its addresses.
    #[serde(default)]
    #[schema(value_type = Object)]
    attributes: BTreeMap<String, serde_json::Value>,
    /// A version; the draft unless given.
    #[serde(default)]
    version: Option<u32>,
}

/// Lists templates by id.
#[utoipa::path(get, path = "/v1/templates", operation_id = "list_templates", tag = "templates", params(TemplatesQuery), responses(
    (status = 200, description = "A page", body = TemplatePage),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's templates are kept elsewhere", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn list(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    page: Result<Query<TemplatesQuery>, QueryRejection>,
) -> Result<Json<TemplatePage>, Problem> {
    let TemplatesQuery { after, limit: most } = query(page)?;
    let most = limit(most.as_deref())?;
    let found = state.ask(desk(&state)?.list(after, most)).await?;
    let next = found.last().filter(|_| found.len() as u64 == u64::from(most)).map(|last| last.id.clone());
    Ok(Json(TemplatePage { templates: found.into_iter().map(TemplateSummary::of).collect(), next }))
}

/// Shows the draft of a template, and its versions.
#[utoipa::path(get, path = "/v1/templates/{id}", operation_id = "show_template", tag = "templates", params(TemplateId), responses(
    (status = 200, description = "The template", body = TemplateShown),
    (status = 404, description = "There is no such template", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's templates are kept elsewhere", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn show(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
) -> Result<Json<TemplateShown>, Problem> {
    const VERSIONS: u32 = 100;
    let desk = desk(&state)?;
    let draft = state.ask(desk.draft(&id)).await?.ok_or_else(|| unknown(&id))?;
    let versions = state.ask(desk.versions(&id, VERSIONS)).await?;
    let versions = versions.into_iter().map(VersionListed::of).collect();
    Ok(Json(TemplateShown {
        id,
        revision: draft.revision,
        age_ms: ms(draft.age),
        draft: draft.template,
        versions,
    }))
}

/// Keeps a draft. Nothing of it is sent before it is published.
#[utoipa::path(put, path = "/v1/templates/{id}", operation_id = "save_template_draft", tag = "templates", params(TemplateId), request_body = shapes::Template, responses(
    (status = 200, description = "It is kept", body = Saved),
    (status = 409, description = "This server's templates are kept elsewhere", content_type = "application/problem+json", body = Problem),
    ChangeBodyProblems,
))]
async fn save(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<Saved>, Problem> {
    let draft: TemplateBody = json::read(&payload.headers, &payload.bytes)?;
    let draft = draft.into_template()?;
    let revision = answered(state.in_time(desk(&state)?.save(&id, &draft)).await?)?;
    tracing::debug!(id, revision, caller = caller.name, "template saved");
    Ok(Json(Saved { id, revision }))
}

/// Shows a version: what it says, and copies of the templates that it includes.
#[utoipa::path(get, path = "/v1/templates/{id}/versions/{number}", operation_id = "show_template_version", tag = "templates",
    params(TemplateId, ("number" = inline(shapes::VersionNumber), Path, description = "The number of the version, or `latest` for the one that is sent")), responses(
    (status = 200, description = "The version", body = shapes::TemplateVersion),
    (status = 400, description = "The number is none", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "There is no such version", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's templates are kept elsewhere", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn version(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Json<TemplateVersion>, Problem> {
    let number = match number.as_str() {
        "latest" => None,
        number => Some(number.parse().map_err(|_| {
            Problem::invalid(Fault::parameter("number", "it must be the number of a version, or latest"))
        })?),
    };
    let found = state.ask(desk(&state)?.version(&id, number)).await?;
    found.map(|version| Json(TemplateVersion::clone(&version))).ok_or_else(|| unknown(&id))
}

/// Publishes the draft, if it is without faults, or an older version again.
///
/// It may be repeated: a draft that says what the newest version says is published already.
#[utoipa::path(post, path = "/v1/templates/{id}/publish", operation_id = "publish_template", tag = "templates", params(TemplateId), request_body = Option<PublishBody>, responses(
    (status = 200, description = "The version that is sent now", body = PublishedVersion),
    (status = 404, description = "There is no such template or version", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "Another call has published a version meanwhile, or this server's templates are kept elsewhere", content_type = "application/problem+json", body = Problem),
    ChangeBodyProblems,
))]
async fn publish(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<PublishedVersion>, Problem> {
    let PublishBody { version } = match payload.bytes.is_empty() {
        true => PublishBody::default(),
        false => json::read::<Option<_>>(&payload.headers, &payload.bytes)?.unwrap_or_default(),
    };
    let published = answered(state.in_time(desk(&state)?.publish(&id, version)).await?)?;
    tracing::info!(id, number = published.number, caller = caller.name, "template published");
    Ok(Json(PublishedVersion { id, number: published.number, is_new: published.is_new }))
}

/// Shows what a recipient would read.
#[utoipa::path(post, path = "/v1/templates/{id}/preview", operation_id = "preview_template", tag = "templates", params(TemplateId), request_body = PreviewBody, responses(
    (status = 200, description = "What it reads", body = shapes::Content),
    (status = 400, description = "The template has a fault, or cannot be called like this", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope read", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "There is no such template or version", content_type = "application/problem+json", body = Problem),
    (status = 408, description = "The body arrives too slowly", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's templates are kept elsewhere", content_type = "application/problem+json", body = Problem),
    (status = 413, description = "The body is too long", content_type = "application/problem+json", body = Problem),
    (status = 415, description = "The body is not JSON", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn preview(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<Content>, Problem> {
    let body: PreviewBody = json::read(&payload.headers, &payload.bytes)?;
    let attributes = body.attributes.try_into();
    let attributes = attributes.map_err(|invalid: claimstream_domain::Invalid| {
        Problem::invalid(Fault::at("/attributes", invalid.to_string()))
    })?;
    let recipient = Recipient { language: body.language, attributes, ..Recipient::user("preview") };
    let call = TemplateCall { id, params: body.params };
    let shown = desk(&state)?.preview(&call, body.version, &recipient, body.channel);
    answered(state.in_time(shown).await?).map(Json)
}

fn desk(state: &AppState) -> Result<&dyn TemplateDesk, Problem> {
    state.stores.templates.as_deref().ok_or_else(Problem::templates_elsewhere)
}

fn answered<T>(answer: Result<T, TemplateRefusal>) -> Result<T, Problem> {
    answer.map_err(|refusal| match refusal {
        TemplateRefusal::Unknown(why) => Problem::unknown_template(why),
        TemplateRefusal::Invalid(why) => Problem::invalid(Fault::at("", why)),
        TemplateRefusal::Conflict(why) => Problem::published_meanwhile(why),
        TemplateRefusal::Store(error) => {
            tracing::warn!(%error, "the store refused a request");
            Problem::of_store(&error)
        }
    })
}

fn unknown(id: &str) -> Problem {
    Problem::unknown_template(format!("there is no template {id:?}, or it has no such version"))
}

fn ms(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

impl TemplateSummary {
    fn of(TemplateListed { id, revision, age, published }: TemplateListed) -> Self {
        Self { id, revision, age_ms: ms(age), published }
    }
}

impl VersionListed {
    fn of(TemplateVersionListed { number, restores, age }: TemplateVersionListed) -> Self {
        Self { number, restores, age_ms: ms(age) }
    }
}
