use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use claimstream::{
    Claimed, Headers, Lease, Message, MessageId, Payload, QueueName, Reason, Relay, RelayConfig, RelayError,
    Renewed, Settled, StoreError, StoreErrorKind, Timer,
};
use claimstream_domain::{ClaimId, Disposition, Locator, OrderingKey, Receipt, RunPlace, Settlement, Shard};
use claimstream_ports::mock::{HandTimer, MockLockingStrategy, MockSettlements};
use futures::{executor::LocalPool, task::LocalSpawnExt};
use uuid::Uuid;

/// The mocks of both store ports, the script that they play, and the record of what they were asked.
#[derive(Clone, Default)]
pub struct Play {
    pub timer: HandTimer,
    stage: Arc<Mutex<Stage>>,
}

/// What a claim call answers; calls beyond the script find nothing.
#[derive(Clone, Debug)]
pub enum Answer {
    /// New messages with these attempt numbers, cut to what was asked for.
    Messages(Vec<u32>),
    /// New messages at their second attempt, which have this reason of the one before.
    FailedFor(Vec<&'static str>),
    /// New messages with these attempt numbers, none of which has said why the attempt before failed.
    CutOff(Vec<u32>),
    /// So many new messages of one key, each behind the one that was made before it, except the first of all.
    Run(usize),
    /// A new run of the same key, with these attempt numbers.
    NewRun(Vec<u32>),
    /// So many as in a [`Run`](Self::Run) if runs are asked for, and otherwise so many others.
    RunOr(usize, usize),
    /// As many first attempts as were asked for.
    Full,
    Fails(StoreErrorKind),
}

impl Answer {
    /// The answer to a call that asks for runs, or does not.
    fn to(self, runs: bool) -> Self {
        match self {
            Self::RunOr(count, _) if runs => Self::Run(count),
            Self::RunOr(_, others) => Self::Messages(vec![1; others]),
            other => other,
        }
    }
}

/// What a settle call answers; calls beyond the script are taken.
#[derive(Clone, Copy, Debug)]
pub enum SettleAnswer {
    Taken,
    Fails(StoreErrorKind),
    /// What became of so many is known, and of the others not yet.
    Knows(usize),
}

#[derive(Default)]
pub struct Stage {
    pub answers: VecDeque<Answer>,
    pub settle_answers: VecDeque<SettleAnswer>,
    /// Messages that somebody else has taken over.
    pub superseded: Vec<MessageId>,
    /// A message whose settlement is refused for good.
    pub refused: Option<MessageId>,
    /// A message whose settlement, and every call that it is in, fails with an error that may pass and never does.
    pub stuck: Option<MessageId>,
    /// Whether settlements with children are refused for good.
    pub refuses_children: bool,
    /// Every receipt that was handed out last.
    pub receipts: BTreeMap<MessageId, Receipt>,
    /// Messages that are leased and neither settled nor dropped by the test.
    pub leased: BTreeMap<MessageId, Claimed>,
    /// The most that were ever leased, with what was being asked for.
    pub most_leased: usize,
    pub claims: Vec<ClaimCall>,
    pub settlements: Vec<(Duration, Vec<Settlement>)>,
    pub renewals: Vec<(Duration, Vec<Receipt>)>,
    pub renew_fails: bool,
    made: u128,
}

/// One claim call on record.
#[derive(Clone, Copy, Debug)]
pub struct ClaimCall {
    pub at: Duration,
    pub asked: usize,
    pub found: Option<usize>,
    pub claim: ClaimId,
}

impl Play {
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let play = Self::default();
        play.stage().answers.extend(answers);
        play
    }

    pub fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap()
    }

    pub fn relay(&self, config: RelayConfig) -> Relay {
        let mut strategy = MockLockingStrategy::new();
        let play = self.clone();
        strategy.expect_claim().returning(move |request| {
            assert_eq!(request.queue, queue());
            let answer = play.stage().answers.pop_front().map(|answer| answer.to(request.runs.is_some()));
            play.stage().claim(play.timer.now(), request.limit as usize, request.claim, answer)
        });
        let mut settlements = MockSettlements::new();
        let play = self.clone();
        settlements.expect_settle().returning(move |batch| play.stage().settle(play.timer.now(), batch));
        let play = self.clone();
        settlements
            .expect_renew()
            .returning(move |receipts, lease| play.stage().renew(play.timer.now(), receipts, lease));
        Relay::from_ports(Arc::new(strategy), Arc::new(settlements), Arc::new(self.timer.clone()), config)
    }

    /// Every settlement that was sent, in order.
    pub fn settled(&self) -> Vec<Settlement> {
        self.stage().settlements.iter().flat_map(|(_, batch)| batch.clone()).collect()
    }

    /// How many settlements each settle call carried.
    pub fn batches(&self) -> Vec<usize> {
        self.stage().settlements.iter().map(|(_, batch)| batch.len()).collect()
    }
}

impl Stage {
    fn claim(
        &mut self,
        at: Duration,
        asked: usize,
        claim: ClaimId,
        answer: Option<Answer>,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.most_leased = self.most_leased.max(self.leased.len() + asked);
        let cut_off = matches!(answer, Some(Answer::CutOff(_)));
        let runs = matches!(answer, Some(Answer::Run(_) | Answer::NewRun(_)));
        let is_new = matches!(answer, Some(Answer::NewRun(_)));
        let failures = match &answer {
            Some(Answer::FailedFor(reasons)) => reasons.clone(),
            _ => Vec::new(),
        };
        let attempts = match answer {
            None => Vec::new(),
            Some(Answer::Messages(attempts) | Answer::CutOff(attempts) | Answer::NewRun(attempts)) => {
                attempts.into_iter().take(asked).collect()
            }
            Some(Answer::FailedFor(reasons)) => vec![2; reasons.len().min(asked)],
            Some(Answer::Full) => vec![1; asked],
            Some(Answer::Run(count) | Answer::RunOr(_, count)) => vec![1; count.min(asked)],
            Some(Answer::Fails(kind)) => {
                self.claims.push(ClaimCall { at, asked, found: None, claim });
                return Err(StoreError::new(kind, "claim", "as the script says"));
            }
        };
        let mut claimed: Vec<_> = attempts.into_iter().map(|attempt| self.make(claim, attempt)).collect();
        for (claimed, failure) in claimed.iter_mut().zip(failures) {
            claimed.last_error = Some(Reason::new(failure));
        }
        if cut_off {
            claimed.iter_mut().for_each(|claimed| claimed.last_error = None);
        }
        if runs {
            claimed.iter_mut().for_each(put_in_a_run);
        }
        if let Some(first) = claimed.first_mut().filter(|_| is_new) {
            first.place = RunPlace::Head;
        }
        let found = Some(claimed.len());
        self.claims.push(ClaimCall { at, asked, found, claim });
        Ok(claimed)
    }

    fn make(&mut self, claim: ClaimId, attempt: u32) -> Claimed {
        self.made += 1;
        let claimed = claimed(self.made, claim, attempt);
        self.receipts.insert(claimed.message.id, claimed.receipt.clone());
        self.leased.insert(claimed.message.id, claimed.clone());
        claimed
    }

    fn settle(&mut self, at: Duration, batch: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        self.settlements.push((at, batch.to_vec()));
        for settlement in batch {
            let receipt = &settlement.receipt;
            assert_eq!(self.receipts.get(&receipt.message), Some(receipt), "a receipt that was never given");
        }
        match self.settle_answers.pop_front() {
            Some(SettleAnswer::Fails(kind)) => {
                return Err(StoreError::new(kind, "settle", "as the script says"));
            }
            Some(SettleAnswer::Knows(first)) => {
                let known = batch[..first].iter().map(|settlement| self.end(settlement.receipt.message));
                let mut answers: Vec<_> = known.collect();
                answers.resize(batch.len(), Settled::Unknown);
                return Ok(answers);
            }
            Some(SettleAnswer::Taken) | None => {}
        }
        if batch.iter().any(|settlement| Some(settlement.receipt.message) == self.stuck) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "settle", "one of them is never taken"));
        }
        if batch.iter().any(|settlement| self.refuses(settlement)) {
            return Err(StoreError::new(StoreErrorKind::Corrupt, "settle", "a child that is too large"));
        }
        Ok(batch.iter().map(|settlement| self.end(settlement.receipt.message)).collect())
    }

    fn refuses(&self, settlement: &Settlement) -> bool {
        let children = !settlement.disposition.emitted().is_empty();
        Some(settlement.receipt.message) == self.refused || children && self.refuses_children
    }

    fn end(&mut self, message: MessageId) -> Settled {
        let leased = self.leased.remove(&message).is_some();
        if leased && !self.superseded.contains(&message) { Settled::Accepted } else { Settled::Superseded }
    }

    fn renew(&mut self, at: Duration, receipts: &[Receipt], _: Lease) -> Result<Vec<Renewed>, StoreError> {
        self.renewals.push((at, receipts.to_vec()));
        if self.renew_fails {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "renew", "as the script says"));
        }
        Ok(receipts.iter().map(|receipt| self.extend(receipt)).collect())
    }

    fn extend(&mut self, receipt: &Receipt) -> Renewed {
        assert_eq!(self.receipts.get(&receipt.message), Some(receipt), "a receipt that was never given");
        if self.superseded.contains(&receipt.message) {
            return Renewed::Superseded;
        }
        let moved = Receipt { locator: Locator(receipt.locator.0 + 1_000_000), ..receipt.clone() };
        self.receipts.insert(receipt.message, moved.clone());
        Renewed::Extended(moved)
    }
}

pub fn queue() -> QueueName {
    QueueName::new("orders").unwrap()
}

pub fn id(n: u128) -> MessageId {
    MessageId::new(Uuid::from_u128(n))
}

/// How long each message of the script was due.
pub const WAITED: Duration = Duration::from_millis(250);

/// The `n`-th message, every field of its own.
pub fn claimed(n: u128, claim: ClaimId, attempt: u32) -> Claimed {
    let (id, shard) = (id(n), Shard::from_number((n % 16) as u16));
    let payload = Payload::json(format!("{{\"secret\":{n}}}"));
    let message = Message { id, queue: queue(), shard, ordering_key: None, headers: Headers::new(), payload };
    let receipt = Receipt { message: id, queue: queue(), shard, claim, locator: Locator(n as i64) };
    let last_error = (attempt > 1).then(|| Reason::new(format!("attempt {} of {n} failed", attempt - 1)));
    Claimed { message, receipt, attempt, last_error, place: Default::default(), waited: WAITED }
}

/// Makes a message one of a key, behind the one that was made before it.
fn put_in_a_run(claimed: &mut Claimed) {
    let n = claimed.message.id.uuid().as_u128();
    claimed.message.ordering_key = Some(OrderingKey::new("account-7").unwrap());
    claimed.place = if n == 1 { RunPlace::Head } else { RunPlace::Behind(id(n - 1)) };
}

/// The settlement counted.
pub fn accepted(settled: Result<Settled, RelayError>) {
    assert_eq!(settled.unwrap(), Settled::Accepted);
}

pub fn returned(settlements: &[Settlement]) -> Vec<MessageId> {
    of(settlements, |disposition| *disposition == Disposition::Returned)
}

pub fn of(settlements: &[Settlement], which: impl Fn(&Disposition) -> bool) -> Vec<MessageId> {
    let which = settlements.iter().filter(|settlement| which(&settlement.disposition));
    which.map(|settlement| settlement.receipt.message).collect()
}

/// An executor for one thread that a test steps through.
#[derive(Default)]
pub struct Bench {
    pool: LocalPool,
}

impl Bench {
    /// Starts a task; its output is there once it is done.
    pub fn start<T: 'static>(&self, task: impl Future<Output = T> + 'static) -> Task<T> {
        let output = Task(Arc::new(Mutex::new(None)));
        let done = Arc::clone(&output.0);
        self.pool.spawner().spawn_local(async move { *done.lock().unwrap() = Some(task.await) }).unwrap();
        output
    }

    /// Lets every task go as far as it can without time.
    pub fn settle(&mut self) {
        self.pool.run_until_stalled();
    }

    /// Lets time pass, as little as possible at once, until `task` is done.
    pub fn finish<T>(&mut self, timer: &HandTimer, task: Task<T>) -> T {
        for _ in 0..100_000 {
            self.settle();
            if let Some(output) = task.take() {
                return output;
            }
            assert!(timer.advance_to_next(), "everybody waits and nobody sleeps");
        }
        panic!("no end in sight");
    }

    /// Lets `time` pass, as little as possible at once.
    pub fn pass(&mut self, timer: &HandTimer, time: Duration) {
        let end = timer.now() + time;
        self.settle();
        while timer.now() < end {
            timer.advance((end - timer.now()).min(Duration::from_millis(5)));
            self.settle();
        }
    }
}

/// A task that was started.
pub struct Task<T>(Arc<Mutex<Option<T>>>);

impl<T> Task<T> {
    pub fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_some()
    }

    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap().take()
    }
}
