use futures::future::try_join_all;

use crate::{Failure, contender, job::Job, library::Sender, server::Server};

const SENDERS: u64 = 4;
const PER_TRANSACTION: u64 = 500;

/// Makes the contender's tables anew and puts the backlog there, through the library itself.
pub(crate) async fn run(job: &Job) -> Result<(), Failure> {
    let library = contender::find(&job.contender)?.library;
    let server = Server::new(&job.url);
    library.make_tables(&server).await?;
    let senders = library.senders(&server, SENDERS as usize).await?;
    let shares = (0..SENDERS).zip(senders).map(|(number, sender)| {
        let from = job.backlog * number / SENDERS;
        let to = job.backlog * (number + 1) / SENDERS;
        tokio::spawn(send(sender, from, to, job.payload))
    });
    for sent in try_join_all(shares).await? {
        sent?;
    }
    Ok(())
}

async fn send(mut sender: Box<dyn Sender>, from: u64, to: u64, payload: usize) -> Result<(), Failure> {
    let mut next = from;
    while next < to {
        let end = to.min(next + PER_TRANSACTION);
        sender.send(next..end, payload).await?;
        next = end;
    }
    Ok(())
}
