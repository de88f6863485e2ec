use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    Reason,
    notification::{Answer, DeliveryReceipt, provider::ProviderName},
};
use claimstream_ports::{StoreError, notification::DeliveryAttempt};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    coalescer::WriteCoalescer,
    typed_row::row,
    unit::{Row, maybe, rows, run},
};

const ATTEMPT: &str = "notification attempt";

/// The log of attempts at messages.
pub(crate) struct Attempts {
    pub(crate) db: Arc<Database>,
    /// Attempts that are written together.
    noted: Arc<WriteCoalescer<DeliveryAttempt>>,
}

impl Attempts {
    /// How many rows one statement writes, and how many messages one names.
    const AT_ONCE: usize = 500;

    pub(crate) fn of(db: Arc<Database>) -> Self {
        Self { db, noted: Arc::default() }
    }

    /// Notes attempts, together with those of other calls.
    pub(crate) async fn note(self: &Arc<Self>, attempts: Vec<DeliveryAttempt>) -> Result<(), StoreError> {
        let this = Arc::clone(self);
        let write = move |attempts: Vec<DeliveryAttempt>| {
            let this = Arc::clone(&this);
            async move { this.write(attempts).await }
        };
        self.db.coalesced(ATTEMPT, &self.noted, attempts, write).await
    }

    /// Writes attempts by their key, so that calls with the same ones do not lock each other out.
    async fn write(&self, mut attempts: Vec<DeliveryAttempt>) -> Result<(), StoreError> {
        attempts.sort_unstable_by_key(|attempt| (attempt.message, attempt.claim, attempt.call));
        for part in attempts.chunks(Self::AT_ONCE) {
            let rows: Vec<Args> = part.iter().map(written).collect();
            let write = || {
                let statement = self.db.sql.attempts.note.bind_rows(&self.db.args(), &rows);
                run(self.db.callers(), ATTEMPT, statement)
            };
            self.db.restarting_beside(ATTEMPT, write).await?;
        }
        Ok(())
    }

    /// What is known of these messages.
    pub(crate) async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError> {
        let mut sorted = messages.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut all = Vec::new();
        for ids in sorted.chunks(Self::AT_ONCE) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            let read = || rows(self.db.callers(), ATTEMPT, self.db.sql.attempts.page.bind(&args));
            for row in self.db.restarting_beside(ATTEMPT, read).await? {
                all.push(attempt(&row)?);
            }
        }
        Ok(all)
    }
}

fn written(attempt: &DeliveryAttempt) -> Args {
    Args::new()
        .with("message", bytes(attempt.message))
        .with("claim", bytes(attempt.claim))
        .with("call", i64::from(attempt.call))
        .with("number", i64::from(attempt.number))
        .with("provider", attempt.provider.as_str())
        .with("ago", micros(attempt.ago))
        .with("took", micros(attempt.took))
        .with("class", attempt.answer.class.name())
        .with("acceptance", attempt.answer.acceptance.name())
        .with("reason", maybe(attempt.reason.as_ref().map(|reason| cut(reason.as_str()))))
        .with("reference", maybe(attempt.reference.as_deref().map(cut_reference)))
}

/// The beginning of a reference that its column holds.
fn cut_reference(reference: &str) -> &str {
    &reference[..reference.floor_char_boundary(DeliveryReceipt::MAX_REFERENCE_BYTES)]
}

/// The beginning of a reason that its column holds.
fn cut(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(DeliveryAttempt::MAX_REASON_BYTES)]
}

fn attempt(row: &Row) -> Result<DeliveryAttempt, StoreError> {
    let row = AttemptRow::read(row)?;
    let span = |micros: i64| Duration::from_micros(u64::try_from(micros).unwrap_or_default());
    let class = row.class.parse().map_err(|e| corrupt(ATTEMPT, e))?;
    let acceptance = row.acceptance.parse().map_err(|e| corrupt(ATTEMPT, e))?;
    Ok(DeliveryAttempt {
        message: row.message_id,
        claim: row.claim_id,
        call: row.call_number,
        number: row.number,
        provider: name(&row.provider)?,
        ago: span(row.ago),
        took: span(row.took),
        answer: Answer { class, acceptance },
        reason: row.reason.map(Reason::new),
        reference: row.reference,
    })
}

pub(super) fn name(provider: &str) -> Result<ProviderName, StoreError> {
    ProviderName::new(provider).map_err(|e| corrupt(ATTEMPT, e))
}

row! {
    struct AttemptRow of "attempts/page" {
        message_id: Uuid,
        claim_id: Uuid,
        call_number: u32,
        number: u32,
        provider: String,
        ago: i64,
        took: i64,
        class: String,
        acceptance: String,
        reason: Option<String>,
        reference: Option<String>,
    }
}
