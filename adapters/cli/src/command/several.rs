use std::{
    io::{IsTerminal, Write, stderr},
    process::ExitCode,
};

use futures::future::{LocalBoxFuture, join_all};
use serde_json::{Map, Value};

use super::spread::{self, Spread};
use crate::{
    OneDatabase,
    arguments::Command,
    config::{DatabaseName, Loaded},
    failure::Failure,
};

/// Carries a command out on the database of a configuration; answers what it printed, and how it ended.
pub(super) type CarryOut =
    fn(Command, Loaded) -> LocalBoxFuture<'static, (Vec<u8>, Result<ExitCode, Failure>)>;

/// What a command came to on one database, and what it printed.
struct DatabaseOutput {
    name: Option<DatabaseName>,
    printed: Vec<u8>,
    ended: Result<ExitCode, Failure>,
}

/// Carries a command out on each of several databases, and prints what it says of each under the name of the database; in JSON the
/// object of each has the field `database`.
///
/// A database that cannot be reached is an error of its own and changes nothing for the others.
pub(super) async fn run(
    command: Command,
    spread: Spread,
    loaded: &Loaded,
    out: &mut impl Write,
    carry_out: CarryOut,
) -> Result<ExitCode, Failure> {
    if spread == Spread::One {
        return Err(which_one("the command is about one database", loaded));
    }
    if spread::has_place(&command) {
        return Err(which_one("--after names a place in one database", loaded));
    }
    let databases = loaded.config.each_database();
    let outcomes = match spread {
        Spread::InTurn => return in_turn(&command, databases, loaded, out, carry_out).await,
        _ => {
            join_all(databases.into_iter().map(|database| on(command.clone(), database, loaded, carry_out)))
                .await
        }
    };
    match spread {
        Spread::Search => report_found(outcomes, out),
        _ => report_all(outcomes, out),
    }
}

/// Carries a command out on one database after another. On a terminal it says which one is next, because the command may ask, and what became
/// of each is printed before the next.
async fn in_turn(
    command: &Command,
    databases: Vec<OneDatabase>,
    loaded: &Loaded,
    out: &mut impl Write,
    carry_out: CarryOut,
) -> Result<ExitCode, Failure> {
    let (mut failed, mut unwritten) = (None, None);
    for database in databases {
        if let Some(name) = database.name.as_ref().filter(|_| stderr().is_terminal()) {
            let _ = writeln!(stderr(), "database {name}");
        }
        let outcome = on(command.clone(), database, loaded, carry_out).await;
        match report(&outcome, out) {
            Ok(code) => failed = code.or(failed),
            // A reader that closes the output does not keep the command from the other databases.
            Err(failure) => unwritten = Some(failure),
        }
    }
    match (failed, unwritten) {
        (Some(code), _) => Ok(code),
        (None, Some(failure)) => Err(failure),
        (None, None) => Ok(ExitCode::SUCCESS),
    }
}

/// Refuses a command that does not say on which database it is to be carried out.
pub(super) fn which_one(why: &str, loaded: &Loaded) -> Failure {
    let names: Vec<String> = loaded.config.databases.named.keys().map(ToString::to_string).collect();
    Failure::Usage(format!("{why}; name it with --database NAME, which is one of {}", names.join(", ")))
}

/// Refuses to take anything into a database that is being emptied.
pub(super) fn is_drained(name: &DatabaseName) -> Failure {
    Failure::Refused(format!(
        "database {name} is being emptied (databases.{name}.drain = true) and takes in nothing new; name another one, or set drain = false"
    ))
}

async fn on(command: Command, database: OneDatabase, loaded: &Loaded, carry_out: CarryOut) -> DatabaseOutput {
    let OneDatabase { name, config, .. } = database;
    let (printed, ended) = carry_out(command, loaded.with(config)).await;
    DatabaseOutput { name, printed, ended }
}

/// Prints what was found; that it is nowhere is one error.
fn report_found(outcomes: Vec<DatabaseOutput>, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut missing = None;
    let (mut found, mut failed) = (None, None);
    for outcome in outcomes {
        match &outcome.ended {
            Ok(code) => {
                outcome.print(out)?;
                found = Some(*code);
            }
            Err(Failure::Refused(_)) => missing = outcome.ended.err(),
            Err(_) => {
                outcome.complain()?;
                failed = outcome.ended.err();
            }
        }
    }
    match (found, failed, missing) {
        (Some(code), ..) => Ok(code),
        (None, Some(failure), _) => Ok(failure.exit_code()),
        (None, None, Some(missing)) => Err(missing),
        (None, None, None) => Ok(ExitCode::SUCCESS),
    }
}

fn report_all(outcomes: Vec<DatabaseOutput>, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for outcome in outcomes {
        code = report(&outcome, out)?.unwrap_or(code);
    }
    Ok(code)
}

/// Prints what a command came to on one database; answers the exit code if it failed there.
fn report(outcome: &DatabaseOutput, out: &mut impl Write) -> Result<Option<ExitCode>, Failure> {
    outcome.complain()?;
    outcome.print(out)?;
    Ok(outcome.ended.as_ref().err().map(Failure::exit_code))
}

impl DatabaseOutput {
    fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        let name = self.name.as_ref().map(DatabaseName::as_str).unwrap_or_default();
        let text = String::from_utf8_lossy(&self.printed);
        if !text.is_empty() {
            write!(out, "{}", under(name, &text))?;
            out.flush()?;
        }
        Ok(())
    }

    fn complain(&self) -> Result<(), Failure> {
        if let (Err(failure), Some(name)) = (&self.ended, &self.name) {
            writeln!(stderr(), "error: database {name}: {failure}")?;
        }
        Ok(())
    }
}

/// What was printed of a database with its name: a field of the object if it is JSON, and otherwise a heading.
pub(super) fn under(name: &str, printed: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(printed) {
        Ok(object) => format!("{}\n", Value::Object(with_database(name, object))),
        Err(_) => format!("database {name}\n{printed}\n"),
    }
}

/// The object with the name of its database, which comes first.
pub(super) fn with_database(name: &str, object: Map<String, Value>) -> Map<String, Value> {
    let mut tagged = Map::new();
    tagged.insert("database".into(), name.into());
    tagged.extend(object);
    tagged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_heading_and_an_object_a_field() {
        assert_eq!(under("a", "QUEUE\norders\n"), "database a\nQUEUE\norders\n\n");
        assert_eq!(
            under("a", "{\"items\":[],\"next\":null}\n"),
            "{\"database\":\"a\",\"items\":[],\"next\":null}\n"
        );
    }
}
