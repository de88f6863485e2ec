use std::time::Duration;

use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{
    ask::ask,
    choice::{Answer, Choice, choose},
    node::{Node, names},
};
use crate::database::topology::role::Role;

/// A search for the server that takes writes: all are asked at the same time, again and again.
pub(super) struct Search<'a> {
    all: &'a [Node],
    /// The one that was written to before.
    current: Option<usize>,
    answers: Vec<Answer>,
}

impl<'a> Search<'a> {
    /// Between two questions to one server.
    const PAUSE: Duration = Duration::from_millis(100);
    /// How long a server that takes writes waits for what the others say: at the start until each has had its time to answer, because
    /// an old one may be the quickest; in a failover messages wait.
    const OTHERS: [Duration; 2] = [Duration::from_millis(1_100), Duration::from_millis(300)];

    pub(super) fn of(all: &'a [Node], current: Option<usize>) -> Self {
        Self { all, current, answers: vec![Answer::Awaited; all.len()] }
    }

    /// The server that takes writes, once there is one that nothing speaks against.
    pub(super) async fn found(&mut self) -> usize {
        let (said, mut hear) = mpsc::unbounded_channel();
        let mut asking = JoinSet::new();
        for (at, node) in self.all.iter().enumerate() {
            let (options, said) = (node.options.clone(), said.clone());
            asking.spawn(async move {
                while said.send((at, ask(&options).await)).is_ok() {
                    tokio::time::sleep(Self::PAUSE).await;
                }
            });
        }
        let mut due: Option<Instant> = None;
        let mut warned = false;
        loop {
            let heard = match due {
                Some(due) => tokio::time::timeout_at(due, hear.recv()).await.ok().flatten(),
                None => hear.recv().await,
            };
            if let Some((at, answer)) = heard {
                self.answers[at] = answer;
            }
            let all = self.answers.iter().all(|answer| *answer != Answer::Awaited);
            match choose(&self.answers, self.current) {
                Choice::Server(at) if all || self.current == Some(at) || is_over(due) => return at,
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

    fn others(&self) -> Duration {
        let [at_start, in_failover] = Self::OTHERS;
        if self.current.is_none() { at_start } else { in_failover }
    }

    /// What is known of each server, for people.
    pub(super) fn says(&self) -> String {
        let one = |(at, answer): (usize, &Answer)| {
            let said = match answer {
                Answer::Awaited => "no answer yet".to_owned(),
                Answer::Failed(why) => why.clone(),
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
