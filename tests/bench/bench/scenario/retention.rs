use sea_orm::sqlx::{self, Row};

use super::{Plan, Setting, steady};
use crate::{
    Failure, backlog::Backlog, cell::Cell, contender::Contender, handwritten, job::Job, record::Round,
};

/// The steady load twice: what is finished leaves its body behind, or the instances sweep it away during their work.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let both = |one| [false, true].map(|swept| cell(setting, one, swept));
    vec![setting.library().flat_map(both).collect()]
}

fn cell(setting: &Setting<'_>, contender: &Contender, swept: bool) -> Cell {
    let job = Job { swept, ..steady::job(setting, contender, setting.options.seconds) };
    let plan = Plan::Retention(job.clone());
    let kept = if swept { "delete" } else { "keep" };
    steady::sized(Cell::new("retention", contender, job.instances, plan), &job)
        .with("rate", job.rate)
        .with("seconds", job.seconds)
        .with("retention", kept)
}

/// A round of the steady load, and how many bodies are left when all is handled.
pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    let mut round = steady::round(contender, job, backlog).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    let left = sqlx::query("SELECT COUNT(*) FROM claimstream_message").fetch_one(&mut connection).await?;
    round.set("bodies_left", left.try_get::<i64, _>(0)? as f64);
    Ok(round)
}
