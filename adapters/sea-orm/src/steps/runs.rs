use std::time::Duration;

use claimstream_domain::step::{
    RunEnds, RunFilter, RunKind, RunListed, RunPage, RunPlace, StepKey, StepListed,
};
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::database::{
    Database,
    args::Args,
    typed_row::row,
    unit::{Row, rows},
};

const RUNS: &str = "runs";

/// How many rows of the ledger one page looks at. In a ledger of an inbox most rows are of no run that is listed, so a look is long; it
/// stays in the index.
const LOOKED_AT: i64 = 20_000;

/// The end of all time, as moments are counted here.
const NEVER: i64 = 253_402_300_799_999_999;

/// The longest time without a change that is asked for: a century.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// No state has this number.
const NO_STATE: i64 = 256;

/// The runs that match and stand behind `after`, at most `limit`, as far as one look reaches.
pub(crate) async fn runs(
    db: &Database,
    filter: &RunFilter,
    after: Option<RunPlace>,
    limit: u32,
) -> Result<RunPage, StoreError> {
    let quiet = filter.quiet_for.min(LONGEST).as_micros();
    let args = behind(db.args(), after.as_ref()).with("quiet", i64::try_from(quiet).unwrap_or(i64::MAX));
    let end = reach(db, &args).await?;
    let args = up_to(meaning(args, filter), end.as_ref()).with("limit", i64::from(limit));
    let found = db.restarting(|| rows(db.relay(), RUNS, db.sql.steps.runs.bind(&args))).await?;
    let read = found.iter().map(|row| listed(row, filter.kind));
    let (places, runs): (Vec<_>, Vec<_>) = read.collect::<Result<Vec<_>, StoreError>>()?.into_iter().unzip();
    let is_full = runs.len() >= limit as usize;
    let next = if is_full { places.last().cloned().or(after) } else { end };
    Ok(RunPage { runs, next })
}

/// The rows of a run by step.
pub(crate) async fn steps(
    db: &Database,
    scope: &str,
    run: &str,
    limit: u32,
) -> Result<Vec<StepListed>, StoreError> {
    let Some(kind) = RunKind::of_scope(scope) else { return Ok(Vec::new()) };
    let args = db.args().with("scope", scope).with("run", run).with("limit", i64::from(limit));
    let found = db.restarting(|| rows(db.relay(), RUNS, db.sql.steps.of_run.bind(&args))).await?;
    let read = found.iter().map(|row| {
        let OfRunRow { step, state, version, age, quiet } = OfRunRow::read(row)?;
        let standing = kind.standing(&step, code(row, state)?);
        let (age, quiet_for) = (length(age), length(quiet));
        Ok(StepListed { step: step.into(), standing, version, age, quiet_for })
    });
    read.collect()
}

/// Where a look ends that begins behind a place; `None` if it reaches the newest row.
async fn reach(db: &Database, args: &Args) -> Result<Option<RunPlace>, StoreError> {
    let args = args.clone().with("others", LOOKED_AT - 1);
    let found = db.restarting(|| rows(db.relay(), RUNS, db.sql.steps.reach.bind(&args))).await?;
    found.first().map(place).transpose()
}

fn behind(args: Args, place: Option<&RunPlace>) -> Args {
    let (from, [scope, run, step]) = match place {
        Some(place) => (place.changed_at(), parts(place.key())),
        // Nothing is before an empty key.
        None => (0, [""; 3]),
    };
    args.with("from", from).with("after_scope", scope).with("after_run", run).with("after_step", step)
}

fn up_to(args: Args, place: Option<&RunPlace>) -> Args {
    let (to, [scope, run, step]) = match place {
        Some(place) => (place.changed_at(), parts(place.key())),
        None => (NEVER, [""; 3]),
    };
    args.with("to", to).with("to_scope", scope).with("to_run", run).with("to_step", step)
}

fn parts(key: &StepKey) -> [&str; 3] {
    [key.scope(), key.run(), key.step()]
}

/// The same that [`RunFilter::means`] says of one row.
fn meaning(args: Args, filter: &RunFilter) -> Args {
    let (first, end) = filter.scopes();
    // A branch stands for itself, so any step will do: nothing is behind the last character.
    let last_step = if filter.kind.is_head("any") { "\u{10FFFF}" } else { "" };
    let ended: Vec<Value> = match filter.ends {
        RunEnds::Open => filter.kind.ended().into_iter().map(|state| i64::from(state).into()).collect(),
        RunEnds::All => vec![NO_STATE.into()],
    };
    args.with("first", first).with("end", end).with("last_step", last_step).with_list("ended", ended)
}

fn listed(row: &Row, kind: RunKind) -> Result<(RunPlace, RunListed), StoreError> {
    let RunRow { state, version, age, quiet } = RunRow::read(row)?;
    let place = place(row)?;
    let key = place.key().clone();
    let standing = kind.standing(key.step(), code(row, state)?);
    Ok((place, RunListed { key, standing, version, age: length(age), quiet_for: length(quiet) }))
}

fn place(row: &Row) -> Result<RunPlace, StoreError> {
    let PlaceRow { changed, scope, run, step } = PlaceRow::read(row)?;
    Ok(RunPlace::new(changed, StepKey::new(&scope, &run, &step).map_err(|e| row.corrupt(e))?))
}

fn code(row: &Row, state: i64) -> Result<u8, StoreError> {
    state.try_into().map_err(|_| row.corrupt(format!("{state} is out of range")))
}

fn length(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0).unsigned_abs())
}

row! {
    struct PlaceRow of "steps/reach", "steps/runs" { changed: i64, scope: String, run: String, step: String }
}

row! {
    struct RunRow of "steps/runs" { state: i64, version: u64, age: i64, quiet: i64 }
}

row! {
    struct OfRunRow of "steps/of_run" { step: String, state: i64, version: u64, age: i64, quiet: i64 }
}
