use std::{io::Write, process::ExitCode};

use claimstream_domain::{
    step::{RunKind, StepListed},
    tcc::{GlobalId, GlobalTransaction},
};
use claimstream_ports::step::ListRuns;
use claimstream_sea_orm::Capability;
use serde_json::{Value, json};

use super::runs::{self, Called};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    run_arguments::{TccArguments, TccCommand},
};

const TRANSACTIONS: Called = Called {
    headings: ["TRANSACTION", "BRANCH"],
    fields: ["id", "branch"],
    none: "there are no such transactions",
    names: |run| [run.key.run().to_owned(), run.key.step().to_owned()],
};

const BRANCHES: Called = Called { none: "there are no such branches", ..TRANSACTIONS };

/// Lists TCC transactions or branches, or shows a transaction.
pub(super) async fn run(
    asked: TccArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let TccArguments { command, branches, listing } = asked;
    match command {
        Some(TccCommand::Show { id, json }) => show(&id, json, config, out).await,
        None => {
            let (kind, called) = match branches {
                true => (RunKind::Branch, BRANCHES),
                false => (RunKind::Tcc, TRANSACTIONS),
            };
            let filter = listing.filter(kind, None);
            runs::list(listing, &filter, &called, config, out).await
        }
    }
}

async fn show(
    id: &GlobalId,
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let most = GlobalTransaction::MAX_BRANCHES as u32;
    let rows = |kind: RunKind| {
        let outbox = &outbox;
        async move { outbox.steps(&kind.scope(""), id.as_str(), most).await }
    };
    let (own, branches) = (rows(RunKind::Tcc).await?, rows(RunKind::Branch).await?);
    if own.is_empty() && branches.is_empty() {
        let why = format!("there is no transaction {id} in this database, and no branch of it");
        return Err(Failure::Refused(why));
    }
    let own = own.first();
    match as_json {
        true => writeln!(out, "{}", as_value(id, own, &branches, Moments::of(&outbox).await?))?,
        false => write!(out, "{}", described(id, own, &branches))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn as_value(id: &GlobalId, own: Option<&StepListed>, branches: &[StepListed], moments: Moments) -> Value {
    let mut fields = runs::fields(own, moments);
    fields.insert("id".into(), json!(id.as_str()));
    fields.insert("branches".into(), json!(runs::rows(branches, "branch", moments)));
    Value::Object(fields)
}

fn described(id: &GlobalId, own: Option<&StepListed>, branches: &[StepListed]) -> String {
    let mut text = format!("transaction   {id}\n");
    text += &match own {
        Some(own) => format!(
            "state         {}\nchanged       {} ago\nbegan         {} ago\n",
            own.standing.state,
            Age(own.quiet_for),
            Age(own.age)
        ),
        None => "state         its coordinator keeps it in another database, or it has been deleted\n".into(),
    };
    match branches.is_empty() {
        true => text + "branches      none in this database\n",
        false => text + &format!("\n{}", runs::row_table(branches, "BRANCH")),
    }
}
