use std::{pin::Pin, sync::Arc, time::Duration};

use sea_orm::sqlx::mysql::MySqlConnectOptions;
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    task::JoinSet,
    time::Instant,
};

use super::{
    ask::ask,
    choice::{Answer, Choice, choose},
    evidence::Evidence,
    node::{Node, names},
    pauses::Pauses,
};
use crate::database::{moves::Moves, topology::role::Role};

/// A search for the server that takes writes: all are asked at the same time, again and again.
pub(super) struct Search<'a> {
    all: &'a [Node],
    /// Whom it tells that the server that was written to is lost.
    moves: &'a Moves,
    /// The one that was written to before.
    current: Option<usize>,
    /// What speaks against that one.
    evidence: Evidence,
    answers: Vec<Answer>,
    /// Asks a server.
    ask: Ask,
}

type Ask = Arc<dyn Fn(MySqlConnectOptions) -> Asking + Send + Sync>;
type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl<'a> Search<'a> {
    /// How long a server that takes writes waits for what the others say: at the start until each has had its time to answer, because
    /// an old one may be the quickest; in a failover messages wait.
    const OTHERS: [Duration; 2] = [Duration::from_millis(1_100), Duration::from_millis(300)];

    /// One at the start, when none was written to before.
    pub(super) fn at_start(all: &'a [Node], moves: &'a Moves) -> Self {
        let ask: Ask = Arc::new(|options| Box::pin(async move { ask(&options).await }));
        let answers = vec![Answer::Awaited; all.len()];
        Self { all, moves, current: None, evidence: Evidence::default(), answers, ask }
    }

    /// One in a failover: the server that is written to has given this answer.
    pub(super) fn after(all: &'a [Node], moves: &'a Moves, current: usize, said: Answer) -> Self {
        let mut search = Self { current: Some(current), ..Self::at_start(all, moves) };
        search.hear(current, said, Duration::ZERO);
        search
    }

    /// Whether it is known already that the server that was written to does not take writes.
    pub(super) fn may_leave(&self) -> bool {
        self.current.is_none() || self.evidence.is_enough()
    }

    /// The server that takes writes, once there is one that nothing speaks against.
    pub(super) async fn found(&mut self) -> usize {
        let (mut asking, mut answers) = self.asking();
        let found = self.hear_out(&mut answers).await;
        asking.abort_all();
        found
    }

    /// Asks all servers until it is dropped.
    fn asking(&self) -> (JoinSet<()>, UnboundedReceiver<(usize, Answer)>) {
        let (said, hear) = mpsc::unbounded_channel();
        let mut asking = JoinSet::new();
        for (at, node) in self.all.iter().enumerate() {
            let (options, said, ask) = (node.options.clone(), said.clone(), Arc::clone(&self.ask));
            asking.spawn(async move {
                let mut pauses = Pauses::default();
                while said.send((at, ask(options.clone()).await)).is_ok() {
                    tokio::time::sleep(pauses.next(drawn())).await;
                }
            });
        }
        (asking, hear)
    }

    async fn hear_out(&mut self, answers: &mut UnboundedReceiver<(usize, Answer)>) -> usize {
        let began = Instant::now();
        let mut due: Option<Instant> = None;
        let mut warned = false;
        loop {
            let heard = match due.filter(|_| self.may_leave()) {
                Some(due) => tokio::time::timeout_at(due, answers.recv()).await.ok().flatten(),
                None => answers.recv().await,
            };
            if let Some((at, answer)) = heard {
                self.hear(at, answer, began.elapsed());
            }
            let all = self.answers.iter().all(|answer| *answer != Answer::Awaited);
            match choose(&self.answers, self.current) {
                Choice::Server(at) if self.current == Some(at) => return at,
                Choice::Server(at) if self.may_leave() && (all || is_over(due)) => return at,
                Choice::Server(_) => due = due.or_else(|| Some(Instant::now() + self.others())),
                Choice::Disputed(which) => {
                    due = None;
                    if !std::mem::replace(&mut warned, true) {
                        let servers = names(self.all, which);
                        tracing::error!(servers, "several servers take writes and are no cluster; {ADVICE}");
                    }
                }
                Choice::Nobody => due = None,
            }
        }
    }

    fn hear(&mut self, at: usize, answer: Answer, since_begun: Duration) {
        if self.current == Some(at) {
            self.evidence.hear(&answer, since_begun);
            if self.evidence.is_enough() {
                self.moves.look();
            }
        }
        self.answers[at] = answer;
    }

    fn others(&self) -> Duration {
        let [at_start, in_failover] = Self::OTHERS;
        if self.current.is_none() { at_start } else { in_failover }
    }

    /// What is known of each server, for people.
    pub(super) fn says(&self) -> String {
        let one = |(at, answer): (usize, &Answer)| {
            let said = match answer {
                Answer::Awaited => "no answer yet".to_owned(),
                Answer::Failed(why) | Answer::Refused(why) => why.clone(),
                Answer::Says(Role::Refuses(why)) => why.clone(),
                Answer::Says(Role::Writes(_)) => "takes writes".to_owned(),
            };
            format!("{}: {said}", names(self.all, [at]))
        };
        let all: Vec<String> = self.answers.iter().enumerate().map(one).collect();
        let advice = match choose(&self.answers, None) {
            Choice::Disputed(_) => ADVICE,
            _ => "the outbox writes to the server that is not read-only",
        };
        format!("{}; {advice}", all.join("; "))
    }
}

const ADVICE: &str = "set read_only = ON on the servers that only follow";

fn is_over(due: Option<Instant>) -> bool {
    due.is_some_and(|due| Instant::now() >= due)
}

/// A number that differs between processes and between questions.
fn drawn() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1
}

#[cfg(test)]
mod tests;
