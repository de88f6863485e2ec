use std::collections::BTreeMap;

use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use super::place::{Member, Place, Source};
use crate::database::{
    args::Args,
    statements::Statements,
    typed_row::row,
    unit::{Row, rows},
};

const TOPOLOGY: &str = "topology";

/// The place of the server that a connection leads to, as far as its role needs it.
pub(crate) async fn place(on: &impl ConnectionTrait, sql: &Statements) -> Result<Place, StoreError> {
    let mut place = settings(on, sql).await?;
    if place.is_of_galera() {
        place.status = named(rows(on, TOPOLOGY, sql.topology.status.bind(&Args::new())).await?)?;
    }
    place.members = members_of(&place, on, sql).await?;
    Ok(place)
}

/// The same with everything that the user may know, and the server that this one follows.
pub(crate) async fn whole_place(
    on: &impl ConnectionTrait,
    sql: &Statements,
) -> Result<(Place, Option<Source>), StoreError> {
    let mut place = settings(on, sql).await?;
    place.status = named(rows(on, TOPOLOGY, sql.topology.status.bind(&Args::new())).await?)?;
    place.members = members_of(&place, on, sql).await?;
    // Not every user may know it.
    let source = rows(on, TOPOLOGY, sql.topology.replica.bind(&Args::new())).await.unwrap_or_default();
    Ok((place, source.first().map(source_of)))
}

async fn settings(on: &impl ConnectionTrait, sql: &Statements) -> Result<Place, StoreError> {
    let settings = named(rows(on, TOPOLOGY, sql.topology.settings.bind(&Args::new())).await?)?;
    Ok(Place { settings, ..Place::default() })
}

async fn members_of(
    place: &Place,
    on: &impl ConnectionTrait,
    sql: &Statements,
) -> Result<Vec<Member>, StoreError> {
    if place.group().is_none() {
        return Ok(Vec::new());
    }
    // Not every user may know the members.
    let found = rows(on, TOPOLOGY, sql.topology.group.bind(&Args::new())).await.unwrap_or_default();
    let member = |row: &Row| {
        let MemberRow { member, state, role, is_self } = MemberRow::read(row)?;
        Ok(Member { member, state, role, is_self })
    };
    found.iter().map(member).collect()
}

fn named(found: Vec<Row>) -> Result<BTreeMap<String, String>, StoreError> {
    found.iter().map(|row| Ok((row.text("Variable_name")?, row.text("Value")?))).collect()
}

/// The servers name their columns in two ways.
fn source_of(row: &Row) -> Source {
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| row.named_text(name).ok().flatten());
    let number = |names: [&str; 2]| names.into_iter().find_map(|name| row.int(name).ok());
    let host = text(["Source_Host", "Master_Host"]).unwrap_or_default();
    let port = number(["Source_Port", "Master_Port"]).unwrap_or_default();
    let behind = number(["Seconds_Behind_Source", "Seconds_Behind_Master"]);
    Source { server: format!("{host}:{port}"), seconds_behind: behind.map(|seconds| seconds.to_string()) }
}

row! {
    struct MemberRow of "topology/group" { member: String, state: String, role: String, is_self: bool }
}
