use tokio::task::JoinSet;

use super::{
    ask::{TIMEOUT, ask},
    choice::Answer,
    known::Nodes,
};

/// A server of the URL, and what it says at this moment.
pub(crate) struct Surveyed {
    /// Its address.
    pub(crate) name: String,
    /// Whether the outbox writes to it.
    pub(crate) is_written_to: bool,
    pub(crate) answer: Answer,
}

impl Nodes {
    /// Asks all servers at the same time, each once.
    pub(crate) async fn survey(&self) -> Vec<Surveyed> {
        let (writer, mut asked) = (self.writer(), JoinSet::new());
        for (at, node) in self.all().iter().enumerate() {
            let (options, timer) = (node.options(), self.timer().clone());
            asked.spawn(async move { (at, ask(timer, &options, TIMEOUT).await) });
        }
        let of = |(at, name): (usize, String)| Surveyed {
            name,
            is_written_to: at == writer,
            answer: Answer::Awaited,
        };
        let names = self.all().iter().map(|node| node.name.clone());
        let mut surveyed: Vec<Surveyed> = names.enumerate().map(of).collect();
        while let Some(Ok((at, answer))) = asked.join_next().await {
            surveyed[at].answer = answer;
        }
        surveyed
    }
}
