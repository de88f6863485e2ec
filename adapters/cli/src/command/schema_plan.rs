use std::{collections::BTreeSet, io::Write, process::ExitCode, time::Duration};

use claimstream_sea_orm::{CapabilityPlan, SchemaPlan, SchemaStep};
use serde_json::{Value, json};

use crate::{
    config::DatabaseSettings,
    failure::Failure,
    table::{Column, Table},
};

/// What of a plan is printed, and how.
pub(super) struct PlanView {
    pub(super) statements: bool,
    pub(super) as_json: bool,
}

/// Shows what `schema apply` would send.
pub(super) async fn run(
    database: &DatabaseSettings,
    shown: PlanView,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let plan = database.plan().await?;
    match shown.as_json {
        true => writeln!(out, "{}", as_value(&plan))?,
        false => write!(out, "{}", as_text(&plan, shown.statements))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn as_value(plan: &SchemaPlan) -> Value {
    let steps: Vec<Value> = plan.steps.iter().map(step_as_value).collect();
    json!({
        "server": plan.server,
        "tried": plan.is_tried,
        "capabilities": plan.capabilities.iter().map(capability_as_value).collect::<Vec<_>>(),
        "gone": plan.gone,
        "about_seconds": total(plan).map(|total| total.as_secs_f64()),
        "online": plan.steps.iter().all(|step| step.way.is_online()),
        "rights": rights(plan),
        "steps": steps,
    })
}

fn capability_as_value(plan: &CapabilityPlan) -> Value {
    json!({"name": plan.capability.name(), "applied": plan.applied, "newest": plan.newest})
}

fn step_as_value(step: &SchemaStep) -> Value {
    json!({
        "capability": step.capability.name(),
        "version": step.version,
        "table": step.table,
        "change": step.change,
        "way": step.way.to_string(),
        "online": step.way.is_online(),
        "rows": step.rows,
        "about_seconds": step.about().map(|about| about.as_secs_f64()),
        "rights": step.rights,
        "statement": step.statement,
    })
}

fn as_text(plan: &SchemaPlan, with_statements: bool) -> String {
    let SchemaPlan { server, capabilities, gone, steps, .. } = plan;
    let stands = capabilities.iter().map(|CapabilityPlan { capability, applied, newest }| match applied {
        0 => format!("{capability} without tables"),
        _ => format!("{capability} version {applied} of {newest}"),
    });
    let mut head = format!("{server}: {}\n", stands.collect::<Vec<_>>().join(", "));
    if !gone.is_empty() {
        head += &format!(
            "tables are gone: {}; `claimstream schema apply` refuses to make them\n",
            gone.join(", ")
        );
    }
    if steps.is_empty() {
        return format!("{head}nothing is to be done\n");
    }
    let statements = match with_statements {
        true => steps.iter().map(|step| format!("\n{};\n", step.statement)).collect(),
        false => String::new(),
    };
    let count = steps.len();
    format!(
        "{head}`claimstream schema apply` would send {count} statements; nothing was changed\n\n{}\n{}{statements}",
        table(steps),
        remarks(plan)
    )
}

fn table(steps: &[SchemaStep]) -> String {
    let mut table = Table::new([
        Column::Text("FOR"),
        Column::Number("VERSION"),
        Column::Text("TABLE"),
        Column::Text("WHAT"),
        Column::Text("HOW"),
        Column::Text("WRITERS"),
        Column::Number("ROWS"),
        Column::Text("ABOUT"),
        Column::Text("RIGHTS"),
    ]);
    for step in steps {
        table.row([
            step.capability.to_string(),
            step.version.to_string(),
            step.table.clone(),
            step.change.clone(),
            step.way.to_string(),
            if step.way.is_online() { "go on" } else { "wait" }.into(),
            step.rows.map_or_else(|| "-".into(), |rows| rows.to_string()),
            step.about().map_or_else(|| "not known".into(), about),
            step.rights.join(", "),
        ]);
    }
    table.to_string()
}

/// What holds for the plan as a whole.
fn remarks(plan: &SchemaPlan) -> String {
    let mut remarks = Vec::new();
    let longest = total(plan).map_or_else(|| "an unknown time".into(), about);
    let waiting = plan.steps.iter().filter(|step| !step.way.is_online()).count();
    remarks.push(match waiting {
        0 => format!("about {longest} in all, by estimated numbers of rows; others read and write meanwhile"),
        _ => format!(
            "about {longest} in all, by estimated numbers of rows; writers wait for {waiting} statements"
        ),
    });
    let rights = rights(plan);
    if !rights.is_empty() {
        let rights = Vec::from_iter(rights).join(", ");
        remarks.push(format!("the user needs the rights {rights} on the database"));
        remarks.push(
            "a change of a table that is in use waits for open transactions on it, and new ones wait behind the change; end long \
             ones first"
                .into(),
        );
    }
    if !plan.is_tried {
        remarks.push(
            "this server is older than those on which these ways were tried; try it on a copy of the database first"
                .into(),
        );
    }
    remarks.iter().map(|remark| format!("{remark}\n")).collect()
}

/// About how long all of it takes, if it is known of each step.
fn total(plan: &SchemaPlan) -> Option<Duration> {
    plan.steps.iter().map(SchemaStep::about).sum()
}

fn rights(plan: &SchemaPlan) -> BTreeSet<&'static str> {
    plan.steps.iter().flat_map(|step| step.rights.iter().copied()).collect()
}

/// A duration as an estimate is said.
fn about(duration: Duration) -> String {
    match duration.as_secs() {
        0 if duration.is_zero() => "at once".into(),
        0..2 => "a second".into(),
        seconds @ 2..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_said_without_false_exactness() {
        let said = [0, 1, 900, 2_000, 119_000, 121_000].map(|ms| about(Duration::from_millis(ms)));
        assert_eq!(said, ["at once", "a second", "a second", "2 s", "119 s", "3 min"]);
    }
}
