use std::{ops::Range, time::Duration};

use async_trait::async_trait;
use fang::{AsyncQueue, AsyncQueueable, AsyncRunnable, AsyncWorkerPool, FangError, SleepParams, typetag};
use serde::{Deserialize, Serialize};

use crate::{
    Failure,
    job::Job,
    ledger::LEDGER,
    library::{Library, Sender, Worker},
    payload::Json,
    server::Server,
};

const WORKERS: u32 = 16;
const SLEEP: Duration = Duration::from_millis(10);

/// fang with 16 workers that sleep for 10 ms when they find nothing.
pub(crate) struct Fang;

#[async_trait]
impl Library for Fang {
    async fn make_tables(&self, server: &Server) -> Result<(), Failure> {
        server.run(include_str!("../sql/fang.sql")).await
    }

    async fn senders(&self, server: &Server, count: usize) -> Result<Vec<Box<dyn Sender>>, Failure> {
        let queue = connect(server, u32::try_from(count)?).await?;
        Ok((0..count).map(|_| Box::new(Tasks(queue.clone())) as Box<dyn Sender>).collect())
    }

    async fn worker(&self, server: &Server, _job: &Job) -> Result<Box<dyn Worker>, Failure> {
        Ok(Box::new(Workers(connect(server, WORKERS).await?)))
    }

    fn left(&self) -> &'static str {
        include_str!("../sql/fang_left.sql")
    }
}

async fn connect(server: &Server, connections: u32) -> Result<AsyncQueue, Failure> {
    let mut queue = AsyncQueue::builder().uri(server.url()).max_pool_size(connections).build();
    queue.connect().await?;
    Ok(queue)
}

/// A task with a message in it.
#[derive(Serialize, Deserialize)]
struct Message(Json);

#[typetag::serde]
#[async_trait]
impl AsyncRunnable for Message {
    async fn run(&self, _queue: &dyn AsyncQueueable) -> Result<(), FangError> {
        LEDGER.record([self.0.number]);
        Ok(())
    }
}

/// Inserts one by one, each in a transaction of its own: the library knows no other way.
struct Tasks(AsyncQueue);

#[async_trait]
impl Sender for Tasks {
    async fn send(&mut self, numbers: Range<u64>, payload: usize) -> Result<(), Failure> {
        for number in numbers {
            self.0.insert_task(&Message(Json::new(number, payload))).await?;
        }
        Ok(())
    }
}

struct Workers(AsyncQueue);

#[async_trait]
impl Worker for Workers {
    async fn start(&mut self) -> Result<(), Failure> {
        let sleep = SleepParams {
            sleep_period: SLEEP,
            max_sleep_period: SLEEP,
            min_sleep_period: SLEEP,
            sleep_step: Duration::ZERO,
        };
        let pool = AsyncWorkerPool::<AsyncQueue>::builder().number_of_workers(WORKERS).queue(self.0.clone());
        pool.sleep_params(sleep).build().start().await;
        Ok(())
    }
}
