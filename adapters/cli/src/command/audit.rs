use std::{io::Write, process::ExitCode};

use claimstream_domain::{AuditAction, AuditEntry, AuditListed};
use claimstream_ports::AuditLog;
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::json;

use super::listing::{as_list, as_table, place};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    paging::Paging,
    table::{Column, Table},
};

/// Lists what operators did, newest first.
pub(super) async fn run(paging: Paging, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let Paging { after, limit, json: as_json } = paging;
    let after = after.map(|text| text.parse::<u64>()).transpose();
    let after = after.map_err(|_| Failure::Usage(place("an entry")))?;
    let outbox = config.database.open_existing().await?;
    let found = outbox.entries(after, limit).await?;
    let last = found.last().filter(|_| found.len() as u64 >= u64::from(limit));
    let next = last.map(|last| last.number.to_string());
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let item = |one: &AuditListed| {
            json!({
                "number": one.number,
                "noted_at": moments.ago(one.age),
                "actor": one.actor,
                "action": one.action,
                "subject": one.subject,
                "count": one.count,
            })
        };
        return as_list(found.iter().map(item), next, out);
    }
    let mut table = Table::new([
        Column::Number("AGO"),
        Column::Text("ACTOR"),
        Column::Text("ACTION"),
        Column::Number("COUNT"),
        Column::Text("SUBJECT"),
    ]);
    for one in &found {
        table.row([
            Age(one.age).to_string(),
            one.actor.clone(),
            one.action.clone(),
            one.count.map(|count| count.to_string()).unwrap_or_default(),
            one.subject.clone(),
        ]);
    }
    as_table(&table, found.is_empty(), "there are no entries yet", next, out)
}

/// An operator who is about to change something, and where that is noted.
pub(super) struct Audited<'a> {
    pub(super) outbox: &'a SeaOrmOutbox,
    /// The operator.
    pub(super) by: &'a str,
}

impl Audited<'_> {
    /// Notes what is about to be done; it must not be done if that fails.
    pub(super) async fn begin(&self, action: AuditAction, subject: &str) -> Result<(), Failure> {
        let entry = self.entry(action, subject)?;
        let refused =
            |e| Failure::Refused(format!("nothing was done, because the audit log cannot be written: {e}"));
        self.outbox.note_action(&entry).await.map_err(refused)
    }

    /// Notes what was done.
    pub(super) async fn end(&self, action: AuditAction, subject: &str, count: u64) -> Result<(), Failure> {
        let entry = self.entry(action, subject)?.with_count(count);
        let refused = |e| Failure::Refused(format!("it was done, but the audit log cannot be written: {e}"));
        self.outbox.note_action(&entry).await.map_err(refused)
    }

    fn entry(&self, action: AuditAction, subject: &str) -> Result<AuditEntry, Failure> {
        AuditEntry::new(self.by, action, subject).map_err(|refused| Failure::Usage(refused.to_string()))
    }
}
