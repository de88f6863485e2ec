use std::{pin::Pin, sync::Arc, time::Duration};

use sea_orm::sqlx::mysql::MySqlConnectOptions;
use tokio::{
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    task::JoinSet,
};

use super::{
    ask::{TIMEOUT, ask},
    choice::{Answer, Choice, choose},
    evidence::Evidence,
    node::{Node, names},
    pauses::Pauses,
};
use crate::database::{
    moves::{Looking, Moves},
    store_timer::StoreTimer,
    topology::role::{Home, Role},
};

/// A search for the server that takes writes: all are asked at the same time, again and again.
pub(super) struct Search<'a> {
    all: &'a [Node],
    timer: &'a StoreTimer,
    /// Notified that the server that was written to is lost, until the search ends or is given up.
    looking: Looking,
    /// The one that was written to before.
    current: Option<usize>,
    /// What speaks against that one.
    evidence: Evidence,
    answers: Vec<Answer>,
    /// Asks a server.
    ask: Ask,
}

type Ask = Arc<dyn Fn(MySqlConnectOptions, Duration) -> Asking + Send + Sync>;
type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// An answer of a server.
enum Reply {
    /// To a question that had the time which every server has.
    InTime(usize, Answer),
    /// To one that had longer, because the server had missed that time.
    Late(usize, Answer),
}

impl<'a> Search<'a> {
    /// How long a server that takes writes waits for what the others say: at the start until each has had its time to answer, because
    /// an old one may be the quickest; in a failover messages wait.
    const OTHERS: [Duration; 2] = [Duration::from_millis(1_100), Duration::from_millis(300)];
    /// How long a server may take for one answer that has missed another. A server that is slower than a question allows is found by this one.
    const LATE: Duration = Duration::from_secs(10);

    /// One at the start, when none was written to before.
    pub(super) fn at_start(all: &'a [Node], moves: &Moves, timer: &'a StoreTimer) -> Self {
        let waits = timer.clone();
        let ask: Ask = Arc::new(move |options, timeout| {
            let timer = waits.clone();
            Box::pin(async move { ask(timer, &options, timeout).await })
        });
        let (answers, looking) = (vec![Answer::Awaited; all.len()], moves.looking());
        Self { all, timer, looking, current: None, evidence: Evidence::default(), answers, ask }
    }

    /// One in a failover: the server that is written to has given this answer.
    pub(super) fn after(
        all: &'a [Node],
        moves: &Moves,
        timer: &'a StoreTimer,
        current: usize,
        said: Answer,
    ) -> Self {
        let mut search = Self { current: Some(current), ..Self::at_start(all, moves, timer) };
        search.note(current, said, Duration::ZERO);
        search
    }

    /// Whether it is known already that the server that was written to does not take writes.
    pub(super) fn may_leave(&self) -> bool {
        self.current.is_none() || self.evidence.is_enough()
    }

    /// The server that takes writes, once there is one that nothing speaks against.
    pub(super) async fn found(&mut self) -> usize {
        let (mut asking, mut answers) = self.asking();
        let found = self.collect(&mut answers).await;
        asking.abort_all();
        found
    }

    /// Asks all servers until it is dropped.
    fn asking(&self) -> (JoinSet<()>, UnboundedReceiver<Reply>) {
        let (said, replies) = mpsc::unbounded_channel();
        let mut asking = JoinSet::new();
        for (at, node) in self.all.iter().enumerate() {
            let asked =
                Asked { at, node: node.clone(), timer: self.timer.clone(), ask: Arc::clone(&self.ask) };
            asking.spawn(asked.again_and_again(said.clone()));
        }
        (asking, replies)
    }

    async fn collect(&mut self, answers: &mut UnboundedReceiver<Reply>) -> usize {
        let searched = self.timer.stopwatch();
        let mut due: Option<Duration> = None;
        let mut warned = false;
        loop {
            let reply = match due.filter(|_| self.may_leave()) {
                Some(due) => {
                    let left = due.saturating_sub(searched.elapsed());
                    self.timer.timeout(left, answers.recv()).await.flatten()
                }
                None => answers.recv().await,
            };
            match reply {
                Some(Reply::InTime(at, answer)) => self.note(at, answer, searched.elapsed()),
                // A reply in time to a question that began later is newer.
                Some(Reply::Late(at, answer)) if self.is_silent(at) => {
                    self.note(at, answer, searched.elapsed());
                }
                _ => {}
            }
            let all = self.answers.iter().all(|answer| *answer != Answer::Awaited);
            match choose(&self.answers, self.current) {
                Choice::Server(at) if self.current == Some(at) => return at,
                Choice::Server(at)
                    if self.may_leave() && (all || due.is_some_and(|due| searched.elapsed() >= due)) =>
                {
                    return at;
                }
                Choice::Server(_) => due = due.or_else(|| Some(searched.elapsed() + self.others())),
                Choice::Disputed(which) => {
                    due = None;
                    if !std::mem::replace(&mut warned, true) {
                        let servers = names(self.all, which);
                        tracing::error!(servers, "these servers {DISPUTED}");
                    }
                }
                Choice::NoServer => due = None,
            }
        }
    }

    fn note(&mut self, at: usize, answer: Answer, since_begun: Duration) {
        if self.current == Some(at) {
            self.evidence.note(&answer, since_begun);
            if self.evidence.is_enough() {
                self.looking.is_certain();
            }
        }
        self.answers[at] = answer;
    }

    fn is_silent(&self, at: usize) -> bool {
        matches!(self.answers[at], Answer::Awaited | Answer::Failed(_))
    }

    /// What data a server has, if it has said that it takes writes.
    pub(super) fn home(&self, at: usize) -> Option<Home> {
        match self.answers.get(at) {
            Some(Answer::Says(Role::Writes(home))) => Some(home.clone()),
            _ => None,
        }
    }

    fn others(&self) -> Duration {
        let [at_start, in_failover] = Self::OTHERS;
        if self.current.is_none() { at_start } else { in_failover }
    }

    /// Why none was chosen in that time, for people.
    pub(super) fn says(&self, timeout: Duration) -> String {
        if let Choice::Disputed(which) = choose(&self.answers, None) {
            return format!("{} {DISPUTED}", names(self.all, which));
        }
        let one = |(at, answer): (usize, &Answer)| format!("{}: {answer}", names(self.all, [at]));
        let all: Vec<String> = self.answers.iter().enumerate().map(one).collect();
        let all = all.join("; ");
        format!(
            "no server takes writes within {timeout:?}: {all}; the outbox writes to the server that is not read-only"
        )
    }
}

/// What servers do that both take writes, and what would work.
const DISPUTED: &str = "take writes and do not have the same data, so the outbox connects to none of them: decide which one is right, run \
                        SET GLOBAL read_only = ON on the others and set it in their configuration files; or name that one alone in the \
                        database URL";

/// One of the servers, and how it is asked.
struct Asked {
    at: usize,
    node: Node,
    timer: StoreTimer,
    ask: Ask,
}

impl Asked {
    /// Asks the server again and again. One that has missed an answer is asked besides by a question that has longer.
    async fn again_and_again(self, said: UnboundedSender<Reply>) {
        let Self { at, node, timer, ask } = self;
        let (mut pauses, mut late) = (Pauses::default(), JoinSet::new());
        loop {
            let answer = ask(node.options(), TIMEOUT).await;
            let is_missed = matches!(answer, Answer::Failed(_));
            if said.send(Reply::InTime(at, answer)).is_err() {
                return;
            }
            while late.try_join_next().is_some() {}
            if is_missed && late.is_empty() {
                let (asked, said) = (ask(node.options(), Search::LATE), said.clone());
                late.spawn(async move { drop(said.send(Reply::Late(at, asked.await))) });
            }
            timer.sleep(pauses.next(drawn())).await;
        }
    }
}

/// A number that differs between processes and between questions.
fn drawn() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1
}

#[cfg(test)]
mod tests;
