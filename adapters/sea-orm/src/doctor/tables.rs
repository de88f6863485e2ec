use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, typed_row::row, unit::rows},
    doctor::{
        examination::Examination,
        finding::{Finding, either, failure, good},
    },
};

const DOCTOR: &str = "doctor";

impl Examination<'_> {
    /// Tables on InnoDB, times with microseconds, keys compared byte by byte.
    pub(super) async fn examine_tables(&self) -> Result<Vec<Finding>, StoreError> {
        let engines = rows(self.db.relay(), DOCTOR, self.db.sql.doctor.tables.bind(&Args::new())).await?;
        let mut wrong = Vec::new();
        for row in &engines {
            let Table { table_name: table, engine } = Table::read(row)?;
            if !engine.eq_ignore_ascii_case("innodb") {
                wrong.push(format!("{table} is {engine}"));
            }
        }
        let columns = rows(self.db.relay(), DOCTOR, self.db.sql.doctor.columns.bind(&Args::new())).await?;
        let mut imprecise = Vec::new();
        let mut collated = Vec::new();
        for row in &columns {
            let Column { table_name: table, column_name: column, column_type: kind } = Column::read(row)?;
            // Views are for other programs, and compare nothing.
            if ["claimstream_outbox", "claimstream_debezium"].contains(&table.as_str()) {
                continue;
            }
            if kind.starts_with("datetime") && kind != "datetime(6)" || kind.starts_with("timestamp") {
                imprecise.push(format!("{table}.{column} is {kind}"));
            }
            if kind.starts_with("char") || kind.starts_with("varchar") || kind.contains("text") {
                collated.push(format!("{table}.{column} is {kind}"));
            }
        }
        Ok(vec![
            either(
                wrong.is_empty() && !engines.is_empty(),
                good("engine", "all tables are InnoDB"),
                failure("engine", format!("tables must be InnoDB: {}", wrong.join(", "))),
            ),
            either(
                imprecise.is_empty(),
                good("times", "all times are DATETIME(6)"),
                failure("times", format!("times must be DATETIME(6): {}", imprecise.join(", "))),
            ),
            either(
                collated.is_empty(),
                good("keys", "all keys are binary"),
                failure("keys", format!("a collation would merge different keys: {}", collated.join(", "))),
            ),
        ])
    }
}

row! {
    struct Table of "doctor/tables" { table_name: String, engine: String }
}

row! {
    struct Column of "doctor/columns" { table_name: String, column_name: String, column_type: String }
}
