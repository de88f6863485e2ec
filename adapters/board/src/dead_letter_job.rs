use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::{AuditEntry, DeadLetterFilter, DeadLetterPlace, MessageId};
use claimstream_ports::{DeadLetters, StoreError, Timer};
use futures::FutureExt;
use uuid::Uuid;

use crate::{
    access::User,
    audit::Audit,
    previews::{Action, Preview},
    selection::Bounds,
};

/// The jobs of this process, the oldest first. Each has a name that no other process gives: a page that was open before a restart must not
/// show, and stop, the job of another process.
#[derive(Default)]
pub(crate) struct DeadLetterJobs(Mutex<VecDeque<(Uuid, Arc<DeadLetterJob>)>>);

/// The revival or the purge of what a preview has shown, in a task of its own.
///
/// It ends with the process. Letters that it has not come to are still there then, so the same preview again does the rest.
pub(crate) struct DeadLetterJob {
    pub(crate) preview: Preview,
    timer: Arc<dyn Timer>,
    state: Mutex<JobStatus>,
}

/// How far a job has come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct JobStatus {
    pub(crate) looked_at: u64,
    pub(crate) done: u64,
    pub(crate) end: Option<End>,
    stopping: bool,
}

/// How a job has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// It has come to the end of the queue.
    Finished,
    /// A user has stopped it.
    Stopped,
    /// The database has refused too often, or the store has panicked.
    Failed,
}

impl DeadLetterJobs {
    /// How many are remembered.
    const MOST: usize = 100;

    /// Begins a job, and answers its name.
    pub(crate) fn begin(
        &self,
        preview: Preview,
        user: User,
        dead_letters: Arc<dyn DeadLetters>,
        audit: Audit,
        timer: Arc<dyn Timer>,
    ) -> Uuid {
        let job = Arc::new(DeadLetterJob { preview, timer, state: Mutex::default() });
        let name = Uuid::new_v4();
        {
            let mut jobs = self.lock();
            jobs.push_back((name, Arc::clone(&job)));
            while jobs.len() > Self::MOST {
                jobs.pop_front();
            }
        }
        tokio::spawn(async move { job.carry_out(&*dead_letters, &audit, &user).await });
        name
    }

    /// The job with this name, while it is remembered.
    pub(crate) fn get(&self, name: Uuid) -> Option<Arc<DeadLetterJob>> {
        self.lock().iter().find(|(known, _)| *known == name).map(|(_, job)| Arc::clone(job))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Uuid, Arc<DeadLetterJob>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeadLetterJob {
    /// How many letters a step looks for; the page in which they are found is taken whole.
    const STEP: Bounds = Bounds { wanted: 200, looked_at: 2_000, time: Duration::from_secs(1), page: 200 };
    /// How many letters one call changes, in one short transaction.
    const AT_ONCE: usize = 200;
    /// How long it rests between two steps, so that relays and producers come first.
    const REST: Duration = Duration::from_millis(20);
    /// How often a step is tried again.
    const TRIES: u32 = 5;
    /// How long it waits before that.
    const WAIT: Duration = Duration::from_secs(1);

    /// How far it has come.
    pub(crate) fn status(&self) -> JobStatus {
        self.lock().clone()
    }

    /// Ends it after the step under way.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
    }

    async fn carry_out(&self, dead_letters: &dyn DeadLetters, audit: &Audit, user: &User) {
        let change = AssertUnwindSafe(self.change(dead_letters)).catch_unwind();
        let end = change.await.unwrap_or_else(|_| {
            tracing::error!("the store has panicked; the board changes no further dead letters");
            End::Failed
        });
        let noted = AssertUnwindSafe(self.note_end(audit, user)).catch_unwind().await;
        if noted.is_err() {
            tracing::error!("the audit log has panicked; the end of a job was not noted");
        }
        self.lock().end = Some(end);
    }

    /// Changes all that are meant, step by step.
    async fn change(&self, dead_letters: &dyn DeadLetters) -> End {
        let (mut after, mut failures) = (None, 0);
        loop {
            if self.lock().stopping {
                return End::Stopped;
            }
            match self.step(dead_letters, after).await {
                Ok(None) => return End::Finished,
                Ok(next) => (after, failures) = (next, 0),
                Err(error) => {
                    tracing::warn!(%error, "dead letters were not changed; the board tries again");
                    failures += 1;
                    if failures > Self::TRIES || !error.is_retryable() {
                        return End::Failed;
                    }
                    self.timer.sleep(Self::WAIT).await;
                }
            }
            self.timer.sleep(Self::REST).await;
        }
    }

    /// Notes how many letters were changed. A database that refuses that too often leaves a beginning without an end, and the log of the
    /// process has the number.
    async fn note_end(&self, audit: &Audit, user: &User) {
        let Preview { action, selection, .. } = &self.preview;
        // The name and the selection were noted when the job began.
        let Ok(entry) = AuditEntry::new(&user.name, action.has_ended(), &selection.subject()) else {
            return;
        };
        let entry = entry.with_count(self.status().done);
        for _ in 0..Self::TRIES {
            match audit.note(&entry).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "the end of a job was not noted; the board tries again")
                }
            }
            self.timer.sleep(Self::WAIT).await;
        }
        Audit::log(&entry);
    }

    /// Changes the next few that are meant, and answers where to look further.
    async fn step(
        &self,
        dead_letters: &dyn DeadLetters,
        after: Option<DeadLetterPlace>,
    ) -> Result<Option<DeadLetterPlace>, StoreError> {
        let Preview { action, selection, at, .. } = &self.preview;
        let part = selection.part(dead_letters, after, Self::STEP, &*self.timer).await?;
        // What died after the preview was not shown. The letters were read before this moment, so a store that takes its time makes none of
        // them older.
        let since_shown = || self.timer.now().saturating_sub(*at);
        let shown = since_shown();
        let ids = part.chosen.iter().filter(|letter| letter.dead_for >= shown).map(|letter| letter.id);
        let ids: Vec<MessageId> = ids.collect();
        for ids in ids.chunks(Self::AT_ONCE) {
            let filter = DeadLetterFilter {
                queue: Some(selection.queue.clone()),
                ids: ids.to_vec(),
                // And what was revived and died again.
                dead_for: Some(since_shown()),
                ..DeadLetterFilter::default()
            };
            let changed = match action {
                Action::Revive => dead_letters.revive(&filter).await?,
                Action::Purge => dead_letters.purge(&filter).await?,
            };
            self.lock().done += changed;
        }
        self.lock().looked_at += part.looked_at;
        Ok(part.next)
    }

    fn lock(&self) -> MutexGuard<'_, JobStatus> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
