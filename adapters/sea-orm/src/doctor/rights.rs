use claimstream_ports::StoreErrorKind;
use sea_orm::ConnectionTrait;

use crate::{
    database::classify::classify,
    doctor::{
        examination::Examination,
        finding::{Finding, failure, good, warning},
    },
};

impl Examination<'_> {
    /// Whether the database user may insert, update and delete wherever the outbox does, asked by statements that change
    /// nothing. A user without the right to delete claims messages and can never settle them.
    pub(crate) async fn examine_rights(&self) -> Finding {
        const CHECK: &str = "rights";
        let (mut lacking, mut unknown) = (Vec::new(), Vec::new());
        for (script, is_needed) in &self.rights {
            let statements = script.text().split(';').map(str::trim);
            for statement in statements.filter(|statement| !statement.is_empty()) {
                let Err(error) = self.db.relay().execute_unprepared(statement).await else { continue };
                let error = classify(CHECK, error);
                match error.kind() {
                    StoreErrorKind::Misconfigured if *is_needed => lacking.push(error.get_ref().to_string()),
                    _ => unknown.push(error.to_string()),
                }
            }
        }
        match (lacking.is_empty(), unknown.is_empty()) {
            (true, true) => good(CHECK, "the user may insert, update and delete in all tables"),
            (true, false) => {
                warning(CHECK, format!("not all looked at, or not there: {}", unknown.join("; ")))
            }
            (false, _) => failure(
                CHECK,
                format!(
                    "grant the user what docs/rights.md lists, messages get stuck without: {}",
                    lacking.join("; ")
                ),
            ),
        }
    }
}
