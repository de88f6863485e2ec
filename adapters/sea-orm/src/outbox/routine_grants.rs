use claimstream_ports::{StoreError, StoreErrorKind};

use super::extra_statement::{EXTRA, send};
use crate::database::{Database, args::Args, typed_row::row, unit::rows};

/// What was granted on the routine `claimstream_enqueue` itself. A grant on the whole database is no part of it, and stays anyway.
pub(super) struct RoutineGrants(Vec<String>);

impl RoutineGrants {
    /// Reads them; refuses if this user may not.
    pub(super) async fn read(db: &Database) -> Result<Self, StoreError> {
        let found = rows(db.relay(), EXTRA, db.sql.routine.grants.bind(&Args::new())).await;
        let found = found.map_err(|error| match error.kind() {
            StoreErrorKind::Misconfigured | StoreErrorKind::Unsupported => refusal(&error, UNREADABLE),
            _ => error,
        })?;
        let statements = found.iter().map(|row| Ok(statement(&Granted::read(row)?)));
        statements.collect::<Result<_, StoreError>>().map(Self)
    }

    /// Grants all of it again. A right that a user has already stays as it is.
    pub(super) async fn give(&self, db: &Database) -> Result<(), StoreError> {
        for statement in &self.0 {
            send(db, statement).await?;
        }
        Ok(())
    }

    /// The error if this user may not grant them, before anything was changed.
    pub(super) fn refused(&self, error: &StoreError) -> StoreError {
        refusal(error, "this user may not give the rights on it again; apply it as a user with GRANT OPTION")
    }

    /// The error if they may be gone.
    pub(super) fn lost(&self, error: &StoreError) -> StoreError {
        let statements = self.0.join("; ");
        let why = match self.0.is_empty() {
            true => format!("the routine was taken away and not made again: {error}; apply it once more"),
            false => format!(
                "the routine or rights on it were not made again: {error}; apply it once more, and then: {statements}"
            ),
        };
        StoreError::new(error.kind(), EXTRA, why)
    }
}

const UNREADABLE: &str = "this user may not read which users have rights on it; apply it as a user with SELECT on mysql.procs_priv, or run what \
                          `claimstream schema routines` prints and grant EXECUTE again. A grant of EXECUTE on the whole database stays";

/// Refuses a replacement.
fn refusal(error: &StoreError, why: &str) -> StoreError {
    let why =
        format!("MySQL cannot replace a procedure, and takes the rights on it away with it: {why} ({error})");
    StoreError::new(error.kind(), EXTRA, why)
}

/// The statement that grants a user what it has.
fn statement(Granted { grantee, rights }: &Granted) -> String {
    let of_routine: Vec<String> =
        rights.split(',').filter(|right| *right != "Grant").map(str::to_ascii_uppercase).collect();
    let given = if of_routine.is_empty() { "USAGE".to_owned() } else { of_routine.join(", ") };
    let onward = if rights.split(',').any(|right| right == "Grant") { " WITH GRANT OPTION" } else { "" };
    format!("GRANT {given} ON PROCEDURE claimstream_enqueue TO {grantee}{onward}")
}

row! {
    struct Granted of "routine/grants" { grantee: String, rights: String }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_names_what_the_table_of_the_server_has() {
        let of = |rights: &str| statement(&Granted { grantee: "'app'@'%'".into(), rights: rights.into() });
        let grant = |what: &str, onward: &str| {
            format!("GRANT {what} ON PROCEDURE claimstream_enqueue TO 'app'@'%'{onward}")
        };
        assert_eq!(of("Execute"), grant("EXECUTE", ""));
        assert_eq!(of("Execute,Alter Routine,Grant"), grant("EXECUTE, ALTER ROUTINE", " WITH GRANT OPTION"));
        assert_eq!(of("Grant"), grant("USAGE", " WITH GRANT OPTION"));
    }
}
