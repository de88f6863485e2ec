use std::{io::Write, process::ExitCode};

use claimstream_domain::{
    AuditAction, AuditEntry, Reason,
    saga::{SagaContinued, SagaId, SagaRecord},
    step::{RunKind, StepListed},
};
use claimstream_ports::{
    saga::{ContinueSagas, SagaReports},
    step::ListRuns,
};
use claimstream_sea_orm::Capability;
use serde_json::{Value, json};

use super::{
    audit::Audited,
    runs::{self, Called, RunMessage},
};
use crate::{
    Exit,
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    run_arguments::{SagaArguments, SagaCommand, SagaContinuing, SagaNamed},
    table::plain,
};

const CALLED: Called = Called {
    headings: ["SAGA", "ID"],
    fields: ["scope", "id"],
    none: "there are no such sagas",
    names: |run| [run.key.scope().to_owned(), run.key.run().to_owned()],
};

/// The most steps of a saga that are shown.
const MOST: u32 = 1_000;

/// Lists sagas, shows one, or continues one.
pub(super) async fn run(
    asked: SagaArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let SagaArguments { command, name, listing } = asked;
    match command {
        None => {
            let filter = listing.filter(RunKind::Saga, name.as_deref());
            runs::list(listing, &filter, &CALLED, config, out).await
        }
        Some(SagaCommand::Show(saga)) => show(saga, config, out).await,
        Some(SagaCommand::Continue(saga)) => proceed(saga, config, out).await,
    }
}

/// A saga with all that is known of it.
struct SagaView {
    scope: String,
    id: SagaId,
    record: Option<SagaRecord>,
    /// The saga's own row.
    row: Option<StepListed>,
    steps: Vec<StepListed>,
    messages: Vec<RunMessage>,
}

async fn show(asked: SagaNamed, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let SagaNamed { name, id, json: as_json } = asked;
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let scope = RunKind::Saga.scope(&name);
    let rows = outbox.steps(&scope, &id.to_string(), MOST).await?;
    let record = outbox.saga(&scope, id).await?;
    if rows.is_empty() && record.is_none() {
        let why = format!(
            "there is no saga {id} of {}; give the name and the id, in the saga's home",
            plain(&scope)
        );
        return Err(Failure::Refused(why));
    }
    let (row, steps): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.step.is_empty());
    let messages = runs::messages(&outbox, id.messages(&scope)).await?;
    let shown = SagaView { scope, id, record, row: row.into_iter().next(), steps, messages };
    match as_json {
        true => writeln!(out, "{}", shown.as_value(Moments::of(&outbox).await?))?,
        false => write!(out, "{}", shown.described())?,
    }
    Ok(ExitCode::SUCCESS)
}

impl SagaView {
    /// Why the saga was called off, if it was.
    fn reason(&self) -> Option<Reason> {
        let row = self.record.as_ref()?.row.as_ref()?;
        let result = row.result.as_ref()?;
        Some(Reason::new(String::from_utf8_lossy(result.as_bytes())))
    }

    fn as_value(&self, moments: Moments) -> Value {
        let mut fields = runs::fields(self.row.as_ref(), moments);
        let more = [
            ("scope", json!(self.scope)),
            ("id", json!(self.id.to_string())),
            ("owner", json!(self.record.as_ref().map(|record| &*record.owner))),
            ("reason", json!(self.reason().as_ref().map(Reason::as_str))),
            ("steps", json!(runs::rows(&self.steps, "step", moments))),
            ("messages", json!(runs::message_values(&self.messages, moments))),
        ];
        fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(fields)
    }

    fn described(&self) -> String {
        let mut text = format!("saga          {}\nid            {}\n", plain(&self.scope), self.id);
        if let Some(record) = &self.record {
            text += &format!("owner         {}\n", plain(&record.owner));
            text += &format!("asked for     {} ago\n", Age(record.age));
        }
        match &self.row {
            Some(row) => {
                text += &format!(
                    "state         {}\nchanged       {} ago\n",
                    row.standing.state,
                    Age(row.quiet_for)
                );
            }
            None => text += "state         not known any more: its rows were deleted long after its end\n",
        }
        if let Some(reason) = self.reason() {
            text += &format!("called off    {}\n", plain(reason.as_str()));
        }
        text += &runs::message_lines(&self.messages);
        if !self.steps.is_empty() {
            text += &format!("\n{}", runs::row_table(&self.steps, "STEP"));
        }
        text + "\nA step that works in another database is listed there alone.\n"
    }
}

async fn proceed(asked: SagaContinuing, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let SagaContinuing { saga: SagaNamed { name, id, json: as_json }, operator } = asked;
    let by = operator.find_or_unnamed();
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let scope = RunKind::Saga.scope(&name);
    let audited = Audited { outbox: &outbox, by: &by };
    audited.begin(AuditAction::Continue, &format!("saga {}/{id}", AuditEntry::named(&scope))).await?;
    let answer = outbox.continue_saga(&scope, id).await?;
    let (word, message, is_continued) = match answer {
        SagaContinued::Asked(message) => ("asked", Some(message), true),
        SagaContinued::UnderWay(message) => ("under_way", Some(message), true),
        SagaContinued::Waiting(message) => ("waiting", Some(message), true),
        SagaContinued::Dead(message) => ("dead_letter", Some(message), false),
        SagaContinued::UsedUp => ("used_up", None, false),
        SagaContinued::Over(_) => ("over", None, false),
        SagaContinued::Forgotten => ("forgotten", None, false),
        SagaContinued::Unknown => ("unknown", None, false),
    };
    if as_json {
        let message = message.map(|message| message.to_string());
        writeln!(
            out,
            "{}",
            json!({"scope": scope, "id": id.to_string(), "answer": word, "message": message})
        )?;
        return Ok(Exit::done_if(is_continued).into());
    }
    let sentence = match answer {
        SagaContinued::Asked(message) => {
            format!("the message {message} continues it; a relay of its queue does the rest")
        }
        SagaContinued::UnderWay(message) => {
            format!("nothing was done: its message {message} is due, or a relay has it")
        }
        SagaContinued::Waiting(message) => {
            format!(
                "nothing was done: three messages that continue it wait for their next attempt, such as {message}"
            )
        }
        SagaContinued::Dead(message) => format!(
            "nothing was done: its message {message} is a dead letter; claimstream dead revive --id {message} --yes continues it"
        ),
        SagaContinued::UsedUp => "nothing was done: the messages that continue it were handled or purged, and their ids are remembered until a sweep deletes their bodies".into(),
        SagaContinued::Over(state) => format!("nothing was done: it has ended as {state}"),
        SagaContinued::Forgotten => "nothing was done: it ended so long ago that its rows are deleted".into(),
        SagaContinued::Unknown => {
            "nothing was done: there is no such saga in this database; give the name and the id, in its home"
                .into()
        }
    };
    writeln!(out, "saga {} {id}: {sentence}", plain(&scope))?;
    Ok(Exit::done_if(is_continued).into())
}
