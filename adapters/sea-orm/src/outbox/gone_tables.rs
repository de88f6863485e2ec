use std::collections::BTreeSet;

use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::schema::pending;
use crate::database::{
    args::Args,
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
    applied: i64,
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

/// The tables that the scripts up to a version make.
fn tables(dialect: Dialect, applied: i64) -> BTreeSet<String> {
    let scripts = pending(dialect, 0).filter(|(version, _)| *version <= applied);
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
    fn the_scripts_make_the_tables_of_their_version() {
        for dialect in [Dialect::MySql, Dialect::Sqlite] {
            assert!(tables(dialect, 0).is_empty());
            let first = tables(dialect, 1);
            for name in
                ["claimstream_schema", "claimstream_shard", "claimstream_queue", "claimstream_message"]
            {
                assert!(first.contains(name), "{name}: {first:?}");
            }
            let all = tables(dialect, 4);
            assert!(!first.contains("claimstream_pause") && all.contains("claimstream_pause"));
            assert!(all.iter().all(|name| name.starts_with("claimstream_")), "{all:?}");
        }
    }
}
