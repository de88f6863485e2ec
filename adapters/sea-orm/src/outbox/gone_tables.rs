use std::collections::{BTreeMap, BTreeSet};

use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::schema::pending;
use crate::database::{
    args::Args,
    capability::Capability,
    classify::{classify, is_missing_table},
    dialect::Dialect,
    statements::Statements,
    unit::rows,
};

/// The tables of the applied versions that are not there, as after a `DROP TABLE`. One on which the user has no right is there.
pub(crate) async fn gone_tables(
    db: &DatabaseConnection,
    sql: &Statements,
    dialect: Dialect,
    applied: &BTreeMap<Capability, i64>,
) -> Result<Vec<String>, StoreError> {
    let listed = rows(db, "schema", sql.schema.tables.bind(&Args::new())).await?;
    let listed = listed.iter().map(|row| row.text("name")).collect::<Result<BTreeSet<_>, _>>()?;
    let mut gone = Vec::new();
    for table in tables(dialect, applied).into_iter().filter(|table| !listed.contains(table)) {
        // A server lists no table on which the user has no right.
        let probe = sql.schema.there.bind(&Args::new()).sql.replace("claimstream_schema", &table);
        let probed = db.execute_unprepared(&probe).await.map_err(|error| classify("schema", error));
        if probed.is_err_and(|error| is_missing_table(&error)) {
            gone.push(table);
        }
    }
    Ok(gone)
}

/// The tables that the scripts up to these versions make.
fn tables(dialect: Dialect, applied: &BTreeMap<Capability, i64>) -> BTreeSet<String> {
    let scripts = applied
        .iter()
        .flat_map(|(capability, newest)| pending(dialect, *capability, 0).filter(|one| one.0 <= *newest));
    let made = scripts.flat_map(|(_, statements)| statements).filter_map(|statement| {
        match statement.split_whitespace().collect::<Vec<_>>()[..] {
            ["CREATE", "TABLE", "IF", "NOT", "EXISTS", table, ..] => Some(table.to_owned()),
            _ => None,
        }
    });
    made.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_make_the_tables_of_their_capability() {
        for dialect in [Dialect::MySql, Dialect::Sqlite] {
            let of = |capabilities: &[Capability]| {
                tables(dialect, &capabilities.iter().map(|one| (*one, 1)).collect())
            };
            assert!(of(&[]).is_empty());
            let outbox = of(&[Capability::Outbox]);
            assert_eq!(outbox.len(), 9, "{outbox:?}");
            assert!(outbox.contains("claimstream_schema") && outbox.contains("claimstream_queue"));
            assert_eq!(of(&[Capability::ShardLease]).into_iter().collect::<Vec<_>>(), ["claimstream_lease"]);
            let all = of(Capability::ALL);
            assert!(all.iter().all(|name| name.starts_with("claimstream_")), "{all:?}");
        }
    }
}
