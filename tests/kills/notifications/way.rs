use std::{collections::HashSet, path::Path, process::Command};

use claimstream_domain::notification::NotificationRequest;
use claimstream_sea_orm::SeaOrmOutbox;
use indicatif::ProgressBar;
use uuid::Uuid;

use crate::{
    Failure, Options,
    fleet::Fleet,
    instance::Job,
    repeats::in_flight,
    served::{Accepted, Aftermath, Intake, ProviderServer, Round, Served},
    sink::unix_micros,
};

/// How requests come into the outbox, and which processes deliver.
pub(crate) enum Way {
    /// This process writes them into the outbox; relays deliver.
    Direct,
    /// Processes that serve take them in over HTTP, and deliver.
    Served { providers: ProviderServer, intake: Box<Intake> },
}

impl Way {
    /// What the options ask for, with the processes started.
    pub(crate) async fn start(
        options: &Options,
        folder: &Path,
        database: &str,
    ) -> Result<(Self, Fleet), Failure> {
        match options.serve {
            false => Ok((Self::Direct, relays(options, folder, database)?)),
            true => served(options, folder, database).await,
        }
    }

    /// Hands all requests in, and says when each was committed.
    pub(crate) async fn submit(
        &self,
        outbox: &SeaOrmOutbox,
        run: Uuid,
        requests: &[NotificationRequest],
        bar: &ProgressBar,
    ) -> Result<Accepted, Failure> {
        match self {
            Self::Served { intake, .. } => intake.submit(run, requests, bar).await,
            Self::Direct => {
                let mut accepted = Accepted { requests: requests.to_vec(), ..Accepted::default() };
                for chunk in requests.chunks(20) {
                    outbox.submit_now(chunk).await?;
                    let now = unix_micros();
                    accepted.at.extend(chunk.iter().map(|request| (request.id, now)));
                    bar.inc(chunk.len() as u64);
                }
                Ok(accepted)
            }
        }
    }

    /// Waits for the receipts of mails, and sees whether they were heeded. They may be lost of messages `of_killed` processes.
    pub(crate) async fn aftermath(
        &self,
        outbox: &SeaOrmOutbox,
        of_killed: &HashSet<Uuid>,
        accepted: &mut Accepted,
    ) -> Result<Option<Aftermath>, Failure> {
        let Self::Served { providers, intake } = self else { return Ok(None) };
        let round = Round { outbox, intake, mailer: providers.mailer(), of_killed };
        round.play(accepted).await.map(Some)
    }

    /// What the providers have to tell.
    pub(crate) fn story(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Direct => Vec::new(),
            Self::Served { providers, .. } => providers.story(),
        }
    }
}

fn relays(options: &Options, folder: &Path, database: &str) -> Result<Fleet, Failure> {
    let (database, strategy) = (database.to_owned(), options.strategy.clone());
    let (folder, lease) = (folder.to_owned(), options.lease);
    Fleet::start(options, move |_, process| {
        let (database, strategy, folder) = (database.clone(), strategy.clone(), folder.clone());
        let job = Job { database, strategy, folder, lease, process };
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--instance").arg(serde_json::to_string(&job)?);
        Ok(command)
    })
}

async fn served(options: &Options, folder: &Path, database: &str) -> Result<(Way, Fleet), Failure> {
    let servers = Served::addresses(options.instances)?;
    let in_flight = in_flight(options.lease);
    let providers = ProviderServer::start(folder, options.outage, servers.clone(), in_flight).await?;
    let served = Served {
        database: database.to_owned(),
        strategy: options.strategy.clone(),
        folder: folder.to_owned(),
        lease: options.lease,
        providers: providers.address(),
        secret: providers.mailer().secret(),
        servers: servers.clone(),
    };
    let fleet = Fleet::start(options, move |place, process| served.command(place, process))?;
    Ok((Way::Served { providers, intake: Box::new(Intake::to(servers, options.rate)) }, fleet))
}
