use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{
    MessageId,
    notification::{RequestStatus, RequesterKind},
};
use claimstream_ports::{
    FindMessages,
    notification::{ListRequests, RequestFilter, RequestListed, RequestPage},
};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::{Value, json};
use uuid::Uuid;

use super::standing;
use crate::{
    Exit,
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    table::{Column, Table},
};

/// Which requests are listed, and how.
pub(super) struct Requests {
    pub(super) status: Option<RequestStatus>,
    pub(super) requester: Option<String>,
    pub(super) after: Option<Uuid>,
    pub(super) limit: u32,
    pub(super) as_json: bool,
}

/// Lists the newest requests.
pub(super) async fn requests(
    asked: Requests,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let Requests { status, requester, after, limit, as_json } = asked;
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let filter = RequestFilter { status, requester };
    let RequestPage { requests, next } = read(&outbox, &filter, after, limit).await?;
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let items: Vec<Value> = requests.iter().map(|request| listed(request, moments)).collect();
        writeln!(out, "{}", json!({"items": items, "next": next.map(|next| next.to_string())}))?;
        return Ok(ExitCode::SUCCESS);
    }
    match requests.is_empty() {
        true => writeln!(out, "there are no such requests")?,
        false => write!(out, "{}", table(&requests))?,
    }
    if let Some(next) = next {
        let _ = writeln!(stderr(), "there may be more; use --after {next}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A page; a call of the store may find few requests, or none, although there are more.
async fn read(
    outbox: &SeaOrmOutbox,
    filter: &RequestFilter,
    after: Option<Uuid>,
    limit: u32,
) -> Result<RequestPage, Failure> {
    let mut all = RequestPage { requests: Vec::new(), next: after };
    loop {
        let wanted = limit.saturating_sub(all.requests.len() as u32);
        let page = ListRequests::list(outbox, filter, all.next, wanted).await?;
        all.requests.extend(page.requests);
        all.next = page.next;
        if all.next.is_none() || all.requests.len() >= limit as usize {
            return Ok(all);
        }
    }
}

fn table(requests: &[RequestListed]) -> Table<4> {
    let columns = [
        Column::Text("REQUEST"),
        Column::Text("STATUS"),
        Column::Number("TAKEN IN"),
        Column::Text("REQUESTER"),
    ];
    let mut table = Table::new(columns);
    for request in requests {
        table.row([
            request.id.to_string(),
            request.status.to_string(),
            format!("{} ago", Age(request.age)),
            format!("{} {}", kind(request.requester.kind), request.requester.id),
        ]);
    }
    table
}

fn listed(request: &RequestListed, moments: Moments) -> Value {
    json!({
        "id": request.id.to_string(),
        "status": request.status.name(),
        "taken_in_at": moments.ago(request.age),
        "requester": {"type": kind(request.requester.kind), "id": request.requester.id},
    })
}

fn kind(kind: RequesterKind) -> &'static str {
    match kind {
        RequesterKind::User => "user",
        RequesterKind::Admin => "admin",
        RequesterKind::Service => "service",
    }
}

/// Shows where messages of the outbox stand; those that are finished, unknown, or too far back in a long queue are not found.
pub(super) async fn messages(
    ids: &[Uuid],
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing().await?;
    let asked: Vec<MessageId> = ids.iter().copied().map(MessageId::new).collect();
    let found = outbox.find(&asked).await?;
    let all_found = found.iter().all(Option::is_some);
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let item = |(id, found): (&Uuid, &Option<_>)| {
            let mut fields = standing::fields(found.as_ref(), moments);
            fields.insert("id".into(), id.to_string().into());
            let queue = found.as_ref().map(|it: &claimstream_domain::MessageStanding| it.queue.as_str());
            fields.insert("queue".into(), json!(queue));
            Value::Object(fields)
        };
        let items: Vec<Value> = ids.iter().zip(&found).map(item).collect();
        writeln!(out, "{}", json!({"items": items, "next": null}))?;
        return Ok(Exit::done_if(all_found).into());
    }
    let columns = ["MESSAGE", "QUEUE", "STATE", "ATTEMPT", "NEXT", "ERROR"].map(Column::Text);
    let mut table = Table::new(columns);
    for (id, found) in ids.iter().zip(&found) {
        let Some(it) = found else {
            let unknown = String::new;
            table.row([id.to_string(), unknown(), "not found".into(), unknown(), unknown(), unknown()]);
            continue;
        };
        table.row([
            id.to_string(),
            it.queue.to_string(),
            it.state.name().into(),
            it.attempts.to_string(),
            standing::next(it),
            it.last_error.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    write!(out, "{table}")?;
    Ok(Exit::done_if(all_found).into())
}
