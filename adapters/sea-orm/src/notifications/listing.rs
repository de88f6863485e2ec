use std::time::Duration;

use claimstream_domain::notification::{Requester, RequesterKind};
use claimstream_ports::{
    StoreError,
    notification::{RequestFilter, RequestListed, RequestPage},
};
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::bytes,
        typed_row::row,
        unit::{Row, rows},
    },
    notifications::statuses::request_status,
};

const REQUEST: &str = "request";

/// How many requests one statement reads where not all of them match, and how many statements a page takes at most.
const LOOKED_AT: u32 = 500;
const TURNS: u32 = 10;

/// The requests that match and are older than `after`, at most `limit`, the newest first.
pub(crate) async fn list(
    db: &Database,
    filter: &RequestFilter,
    mut after: Option<Uuid>,
    limit: u32,
) -> Result<RequestPage, StoreError> {
    let mut page = RequestPage::default();
    let looked_at = if *filter == RequestFilter::default() { limit } else { LOOKED_AT };
    for _ in 0..TURNS {
        let read = read(db, after, looked_at).await?;
        let is_last = read.len() < looked_at as usize;
        for request in read {
            after = Some(request.id);
            if filter.matches(&request) {
                page.requests.push(request);
            }
            if page.requests.len() >= limit as usize {
                return Ok(RequestPage { next: after, ..page });
            }
        }
        if is_last {
            return Ok(page);
        }
    }
    Ok(RequestPage { next: after, ..page })
}

/// So many requests that are older than `after`.
async fn read(db: &Database, after: Option<Uuid>, limit: u32) -> Result<Vec<RequestListed>, StoreError> {
    let (sql, args) = (&db.sql.notifications, db.args().with("limit", i64::from(limit)));
    let (list, args) = match after {
        Some(after) => (&sql.request_list_after, args.with("after", bytes(after))),
        None => (&sql.request_list, args),
    };
    let found = db.restarting_beside(REQUEST, || rows(db.callers(), REQUEST, list.bind(&args))).await?;
    found.iter().map(listed).collect()
}

/// One request as a list shows it.
pub(crate) async fn one(db: &Database, id: Uuid) -> Result<Option<RequestListed>, StoreError> {
    let args = db.args().with("id", bytes(id));
    let read = || rows(db.callers(), REQUEST, db.sql.notifications.request_listed.bind(&args));
    db.restarting_beside(REQUEST, read).await?.first().map(listed).transpose()
}

fn listed(row: &Row) -> Result<RequestListed, StoreError> {
    let ListedRow { id, status, age, kind, requester } = ListedRow::read(row)?;
    let kind = match kind.as_str() {
        "user" => RequesterKind::User,
        "admin" => RequesterKind::Admin,
        "service" => RequesterKind::Service,
        other => return Err(row.corrupt(format!("there is no kind of requester {other:?}"))),
    };
    Ok(RequestListed {
        id,
        status: request_status(&status)?,
        requester: Requester { kind, id: requester },
        age: Duration::from_micros(age.max(0).unsigned_abs()),
    })
}

row! {
    struct ListedRow of "notifications/request_list", "notifications/request_list_after", "notifications/request_listed" {
        id: Uuid,
        status: String,
        age: i64,
        kind: String,
        requester: String,
    }
}
