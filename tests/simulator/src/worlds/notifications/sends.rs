use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::{
    Claimed, Receipt,
    notification::{Acceptance, DeliveryStatus, NotificationMessage, RequestStatus},
};
use claimstream_ports::notification::{
    AttemptLog, Delivered, DeliveryError, MessageRepository, RequestRepository,
};
use futures::FutureExt;
use uuid::Uuid;

use crate::{
    relays::MAX_ATTEMPTS,
    sim::{Process, Sim},
    store::FaultyStore,
};

/// Every call of a provider, and the runs of handlers that make them; each promise is checked as a call begins.
pub(super) struct Sends {
    outbox: FaultyStore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<(Process, Uuid), Vec<Run>>,
    calls: BTreeMap<Uuid, Vec<Call>>,
    taken: BTreeMap<Uuid, u32>,
    next_run: u64,
}

/// A handler that has a message in hand.
#[derive(Clone)]
struct Run {
    number: u64,
    receipt: Receipt,
    /// Why it must not send the message, as that was when it began.
    over: Option<String>,
    /// Which providers were known to be in doubt when it began.
    doubted: BTreeSet<String>,
}

/// A provider that was asked.
struct Call {
    provider: &'static str,
    /// The runs of which one has made it.
    receipts: Vec<Receipt>,
    answer: Option<Answered>,
}

/// What a provider has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answered {
    Taken,
    Unknown,
    NotTaken,
}

impl Answered {
    pub(super) fn of(answer: &Result<Delivered, DeliveryError>) -> Self {
        match answer.as_ref().map_err(|error| error.answer().acceptance) {
            Ok(_) => Self::Taken,
            Err(Acceptance::Unknown) => Self::Unknown,
            Err(_) => Self::NotTaken,
        }
    }
}

/// The runs of a batch, until they are dropped.
pub(super) struct Runs<'a> {
    sends: &'a Sends,
    all: Vec<(Process, Uuid, u64)>,
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        let mut state = self.sends.state();
        for (process, id, number) in &self.all {
            if let Some(runs) = state.runs.get_mut(&(*process, *id)) {
                runs.retain(|run| run.number != *number);
            }
        }
    }
}

impl Sends {
    pub(super) fn new(outbox: &FaultyStore) -> Self {
        Self { outbox: outbox.clone(), state: Mutex::default() }
    }

    pub(super) fn sim(&self) -> &Sim {
        &self.outbox.sim
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handler begins with a batch.
    pub(super) fn opens(&self, process: Process, batch: &[Claimed]) -> Runs<'_> {
        let mut all = Vec::new();
        for claimed in batch {
            let Ok(message) = serde_json::from_slice::<NotificationMessage>(claimed.message.payload.bytes())
            else {
                continue;
            };
            let (over, doubted) = (self.over(claimed, &message), self.known_doubts(message.id));
            let mut state = self.state();
            state.next_run += 1;
            let number = state.next_run;
            let run = Run { number, receipt: claimed.receipt.clone(), over, doubted };
            state.runs.entry((process, message.id)).or_default().push(run);
            all.push((process, message.id, number));
        }
        Runs { sends: self, all }
    }

    /// Why a message must not be sent any more.
    fn over(&self, claimed: &Claimed, message: &NotificationMessage) -> Option<String> {
        let store = &self.outbox.store;
        let status = MessageRepository::status(store, &[message.id]).now_or_never()?.ok()?;
        let request = RequestRepository::read(store, &[message.request_id]).now_or_never()?.ok()?;
        if request.first()?.as_ref()?.status == RequestStatus::Cancelled {
            return Some("its request is called off".into());
        }
        match status.first()? {
            Some(DeliveryStatus::Failed | DeliveryStatus::Pending) | None => {}
            Some(status) => return Some(format!("it is {status}")),
        }
        if message.expires_at.is_some_and(|expires_at| expires_at < self.sim().store_now()) {
            return Some("it has expired".into());
        }
        (claimed.attempt > MAX_ATTEMPTS).then(|| "no attempt is left".into())
    }

    /// The providers that the store knows to be in doubt, or to have accepted the message: by the log of attempts, or by the reason of an
    /// attempt that was settled as its handler said.
    fn known_doubts(&self, id: Uuid) -> BTreeSet<String> {
        let logged = self.outbox.store.attempts(&[id]).now_or_never().and_then(Result::ok);
        let logged = logged.into_iter().flatten();
        let open = logged.filter(|attempt| attempt.answer.acceptance != Acceptance::NotAccepted);
        let mut known: BTreeSet<String> = open.map(|attempt| attempt.provider.to_string()).collect();
        let is_recorded = |call: &&Call| {
            let is_open = matches!(call.answer, Some(Answered::Unknown | Answered::Taken));
            is_open && call.receipts.iter().all(|receipt| self.outbox.journal.has_kept_its_reason(receipt))
        };
        let state = self.state();
        let calls = state.calls.get(&id).into_iter().flatten();
        known.extend(calls.filter(is_recorded).map(|call| call.provider.to_owned()));
        known
    }

    /// A provider is asked to take a message; answers which call of the message this is.
    pub(super) fn begins(&self, process: Process, provider: &'static str, id: Uuid) -> usize {
        let sim = self.sim();
        sim.trace(|| format!("{process:?} asks {provider} to deliver {id}"));
        let mut state = self.state();
        let runs = state.runs.get(&(process, id)).cloned().unwrap_or_default();
        // Which one of the runs it is does not matter if all of them must not.
        if runs.iter().all(|run| run.over.is_some()) {
            let why = runs.first().and_then(|run| run.over.as_deref()).unwrap_or("no handler has it");
            sim.fail(format!("{id} is sent, and {why}"));
        }
        if let Some(doubted) = doubted(&runs, provider) {
            sim.fail(format!("{provider} is asked to deliver {id}, which {doubted} may have accepted"));
        }
        let calls = state.calls.entry(id).or_default();
        let receipts = runs.into_iter().map(|run| run.receipt).collect();
        calls.push(Call { provider, receipts, answer: None });
        calls.len() - 1
    }

    /// The provider has the message.
    pub(super) fn takes(&self, id: Uuid) {
        self.sim().trace(|| format!("{id} is taken"));
        *self.state().taken.entry(id).or_default() += 1;
    }

    /// A call is answered.
    pub(super) fn answers(&self, id: Uuid, call: usize, answered: Answered) {
        self.sim().trace(|| format!("{id}: {answered:?}"));
        if let Some(call) = self.state().calls.get_mut(&id).and_then(|calls| calls.get_mut(call)) {
            call.answer = Some(answered);
        }
    }

    /// How often a message was taken.
    pub(super) fn taken(&self, id: Uuid) -> u32 {
        self.state().taken.get(&id).copied().unwrap_or_default()
    }

    /// How often a provider has answered that it took a message.
    pub(super) fn accepted(&self, id: Uuid) -> usize {
        let state = self.state();
        let calls = state.calls.get(&id).into_iter().flatten();
        calls.filter(|call| call.answer == Some(Answered::Taken)).count()
    }

    /// How often providers were asked to take a message.
    pub(super) fn asked(&self, id: Uuid) -> usize {
        self.state().calls.get(&id).map_or(0, Vec::len)
    }
}

/// Another provider that may have accepted the message, as this one has not, and as each of the runs must know.
fn doubted<'a>(runs: &'a [Run], provider: &str) -> Option<&'a str> {
    let may_ask = |run: &Run| run.doubted.is_empty() || run.doubted.contains(provider);
    let run = runs.first().filter(|_| !runs.iter().any(may_ask))?;
    run.doubted.first().map(String::as_str)
}
