use std::time::{Duration, Instant};

use claimstream_domain::Invalid;
use claimstream_ports::{Observe, Transactions};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::saga::{Saga, SagaId};
use clap::Parser;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    Databases, Failure, account,
    books::{Books, Steps},
    fleet::Fleet,
    kill_line,
    options::Options,
    report::{Ended, OWNER, Report, sums},
    worker::{self, Job},
};

/// What an example moves, and how.
pub(crate) trait Business {
    /// What the example is called.
    const NAME: &'static str;

    /// What one saga is about.
    type Input: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// How many databases there are.
    const DATABASES: usize;

    /// The kinds of money.
    const KINDS: &'static [&'static str];

    /// What a saga books.
    const STEPS: Steps;

    /// The databases in which sagas have their homes.
    fn homes(databases: &[SeaOrmOutbox]) -> Vec<usize>;

    /// The saga whose home is this database.
    fn saga(home: usize, databases: &[SeaOrmOutbox]) -> Result<Saga<Self::Input, SeaOrmOutbox>, Invalid>;

    /// Opens all accounts.
    fn open_accounts(databases: &[SeaOrmOutbox]) -> impl Future<Output = Result<(), Failure>>;

    /// The saga number `number`, and its home.
    fn input(number: usize) -> (usize, Self::Input);

    /// Faults of the end state, beyond the checks of every example.
    fn complaint(
        databases: &[SeaOrmOutbox],
        failed: usize,
    ) -> impl Future<Output = Result<Option<String>, Failure>>;
}

/// Plays an example, or lives as one of its workers, and ends the process as it should.
pub(crate) async fn play<B: Business>() {
    let options = Options::parse();
    let done = match &options.worker {
        Some(job) => worker::live::<B>(job).await.map(|()| true),
        None => show::<B>(&options).await,
    };
    match done {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}

async fn show<B: Business>(options: &Options) -> Result<bool, Failure> {
    let server = options.server.clone().or_else(|| std::env::var("CLAIMSTREAM_SERVER").ok());
    let made = Databases::make(server.as_deref(), B::DATABASES).await?;
    let report = run::<B>(options, &made.urls).await;
    made.drop_all().await?;
    let report = report?;
    println!("{report}");
    report.kill_line(B::NAME).append(options.json.as_deref())?;
    Ok(report.is_good())
}

async fn run<B: Business>(options: &Options, urls: &[String]) -> Result<Report, Failure> {
    let databases = Databases::open(urls).await?;
    for db in &databases {
        account::make_tables(db).await?;
    }
    B::open_accounts(&databases).await?;
    let before = sums::<B>(&databases).await?;
    let homes = B::homes(&databases);
    let sagas = homes.iter().map(|home| B::saga(*home, &databases)).collect::<Result<Vec<_>, _>>()?;
    println!("{} sagas, {} databases, {} workers", options.count, urls.len(), options.workers);
    let job = Job { urls: urls.to_vec(), lease: options.lease };
    let (began, mut fleet) = (Instant::now(), Fleet::start(&job, options)?);
    let submitting = submit::<B>(&databases, &homes, &sagas, options.count);
    let kills = tend(&mut fleet, &databases, &homes, &sagas, submitting).await?;
    let took = began.elapsed();
    drop(fleet);
    let books = Books::read(&databases).await?;
    let ended = Ended::read::<B>(&sagas, &books).await?;
    let mut overdrawn = 0;
    for db in &databases {
        overdrawn += account::overdrawn(db).await?;
    }
    let (after, complaint) =
        (sums::<B>(&databases).await?, B::complaint(&databases, ended.count("Fail")).await?);
    let (repeats, count, server) =
        (books.repeats, options.count, kill_line::server_name(&databases[0]).await?);
    Ok(Report { server, before, after, ended, repeats, overdrawn, complaint, kills, took, count })
}

/// Asks for all sagas, each in a transaction of its home, some in one.
async fn submit<B: Business>(
    databases: &[SeaOrmOutbox],
    homes: &[usize],
    sagas: &[Saga<B::Input, SeaOrmOutbox>],
    count: usize,
) -> Result<(), Failure> {
    for number in 0..count {
        let (home, input) = B::input(number);
        let at = homes.iter().position(|known| *known == home).ok_or("an unknown home")?;
        let (db, id) = (&databases[home], SagaId::new(Uuid::now_v7()));
        let tx = db.begin_tx().await?;
        sagas[at].submit(&tx, id, OWNER, input).await?;
        db.commit_tx(tx).await?;
    }
    Ok(())
}

/// Kills workers until everything has been asked for and no message is left.
async fn tend<I, S>(
    fleet: &mut Fleet,
    databases: &[SeaOrmOutbox],
    homes: &[usize],
    sagas: &[Saga<I, SeaOrmOutbox>],
    submitting: S,
) -> Result<usize, Failure>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    S: Future<Output = Result<(), Failure>>,
{
    let mut submitting = Box::pin(submitting);
    let (mut submitted, mut last, mut seen) = (false, Instant::now(), u64::MAX);
    loop {
        let pause = tokio::time::sleep(Duration::from_millis(100));
        tokio::select! {
            done = &mut submitting, if !submitted => { done?; submitted = true; }
            () = pause => {}
        }
        fleet.tend()?;
        let left = left(databases, homes, sagas).await?;
        if submitted && left == 0 {
            return Ok(fleet.kills);
        }
        if left != seen {
            (last, seen) = (Instant::now(), left);
        }
        if last.elapsed() > STALL_LIMIT {
            return Err(format!("{left} messages are left and nothing has moved for {STALL_LIMIT:?}").into());
        }
    }
}

const STALL_LIMIT: Duration = Duration::from_secs(60);

async fn left<I, H>(databases: &[SeaOrmOutbox], homes: &[usize], sagas: &[Saga<I, H>]) -> Result<u64, Failure>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    H: claimstream_steps::saga::SagaHome + 'static,
{
    let mut left = 0;
    for (home, saga) in homes.iter().zip(sagas) {
        let queues = databases[*home].observe().await?;
        left += queues.iter().filter(|q| q.queue == saga.queue()).map(|q| q.depth).sum::<u64>();
    }
    Ok(left)
}
