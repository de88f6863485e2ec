use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::{Claimed, Settled};
use claimstream_sea_orm::Order;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use uuid::Uuid;

use crate::{Failure, task::Task, unix_micros};

/// Where an instance notes what is handed out to it, before it is handled, and how its settlements were answered.
///
/// Notes that come at the same time are written together. Ids and numbers only: nothing has to be quoted.
pub(crate) struct Notebook {
    notes: mpsc::UnboundedSender<Note>,
    /// Messages whose end this instance has asked for, unless the answer was another: what comes after them in their run is handed
    /// out while that is written.
    ended: Mutex<HashSet<Uuid>>,
    writing: JoinHandle<Result<(), Failure>>,
}

enum Note {
    HandOut { row: String, written: oneshot::Sender<()> },
    Answer { row: String },
}

impl Notebook {
    const TOGETHER: usize = 200;

    /// A notebook of the instance with this number.
    pub(crate) fn open(db: DatabaseConnection) -> Self {
        let (notes, arriving) = mpsc::unbounded_channel();
        Self { notes, ended: Mutex::default(), writing: tokio::spawn(write(db, arriving)) }
    }

    /// Notes a hand-out, and whether it comes too early for the order; returns when the note is committed.
    pub(crate) async fn hand_out(
        &self,
        instance: u32,
        order: Order,
        claimed: &Claimed,
        task: &Task,
        lease_left: std::time::Duration,
    ) -> Result<(), Failure> {
        let row = format!(
            "(0x{:032x}, {}, {instance}, {}, {}, {}, {})",
            claimed.message.id.uuid().as_u128(),
            claimed.attempt,
            claimed.message.shard.number(),
            unix_micros(),
            lease_left.as_micros(),
            early(order, task.before.filter(|before| !self.ended().contains(before))),
        );
        let (written, done) = oneshot::channel();
        self.notes.send(Note::HandOut { row, written })?;
        Ok(done.await?)
    }

    /// Notes that the end of a message is about to be asked for.
    pub(crate) fn ends(&self, id: Uuid) {
        self.ended().insert(id);
    }

    /// Notes that the end that was asked for did not come: the message holds its key still.
    pub(crate) fn goes_on(&self, id: Uuid) {
        self.ended().remove(&id);
    }

    fn ended(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an answer.
    pub(crate) fn answer(&self, id: Uuid, attempt: u32, answer: Settled) -> Result<(), Failure> {
        let accepted = u8::from(answer == Settled::Accepted);
        let row = format!("(0x{:032x}, {attempt}, {accepted})", id.as_u128());
        Ok(self.notes.send(Note::Answer { row })?)
    }

    /// Writes what is left.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        drop(self.notes);
        self.writing.await?
    }
}

/// The expression that says, when the hand-out is noted, whether the message before it still holds the key.
fn early(order: Order, before: Option<Uuid>) -> String {
    let passed = match order {
        Order::None => return "0".into(),
        Order::PerKey => "'ended'",
        Order::PerKeySkip => "'ended', 'failed'",
    };
    before.map_or("0".into(), |before| {
        let before = before.as_u128();
        format!("NOT EXISTS (SELECT 1 FROM ownership_turn WHERE id = 0x{before:032x} AND how IN ({passed}))")
    })
}

async fn write(db: DatabaseConnection, mut arriving: mpsc::UnboundedReceiver<Note>) -> Result<(), Failure> {
    let mut notes = Vec::new();
    while arriving.recv_many(&mut notes, Notebook::TOGETHER).await > 0 {
        let (mut hand_outs, mut answers, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for note in notes.drain(..) {
            match note {
                Note::HandOut { row, written } => {
                    hand_outs.push(row);
                    waiting.push(written);
                }
                Note::Answer { row } => answers.push(row),
            }
        }
        let columns = "ownership_hand_out (id, attempt, instance, shard, begun, lease_left, is_early)";
        insert(&db, columns, &hand_outs).await?;
        for written in waiting {
            // A handler that was stopped waits no longer.
            let _ = written.send(());
        }
        insert(&db, "ownership_answer (id, attempt, is_accepted)", &answers).await?;
    }
    Ok(())
}

async fn insert(db: &DatabaseConnection, columns: &str, rows: &[String]) -> Result<(), Failure> {
    if !rows.is_empty() {
        db.execute_unprepared(&format!("INSERT INTO {columns} VALUES {}", rows.join(", "))).await?;
    }
    Ok(())
}
