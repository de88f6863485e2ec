use std::time::{Duration, Instant};

use futures::future::try_join_all;

use crate::{
    Failure, contender,
    job::{Sending, Sent},
    library::Sender,
    server::Server,
};

/// Makes the contender's tables anew and lets its producers send for as long as the job says; prints how much it was.
pub(crate) async fn run(job: &Sending) -> Result<(), Failure> {
    let library = contender::find(&job.contender)?.library;
    let server = Server::new(&job.url);
    library.make_tables(&server).await?;
    let senders = library.senders(&server, job.producers).await?;
    let began = Instant::now();
    let end = began + Duration::try_from_secs_f64(job.seconds)?;
    let producers = senders.into_iter().map(|sender| {
        let share = Share { per_transaction: job.per_transaction.max(1), payload: job.payload, end };
        tokio::spawn(share.produce(sender))
    });
    let mut count = 0;
    for sent in try_join_all(producers).await? {
        count += sent?;
    }
    let sent = Sent { count, seconds: began.elapsed().as_secs_f64() };
    println!("{}", serde_json::to_string(&sent)?);
    Ok(())
}

/// What one producer does.
struct Share {
    per_transaction: u64,
    payload: usize,
    end: Instant,
}

impl Share {
    async fn produce(self, mut sender: Box<dyn Sender>) -> Result<u64, Failure> {
        let mut count = 0;
        while Instant::now() < self.end {
            sender.send(count..count + self.per_transaction, self.payload).await?;
            count += self.per_transaction;
        }
        Ok(count)
    }
}
