use std::{process::ExitCode, sync::Arc};

use claimstream_http::{
    Directory, Drained, RecipientStores, Server, Service, Stores, TemplateCheck, TemplateDesk,
};
use claimstream_metrics::DatabaseLabel;
use claimstream_notifications::{CompiledTemplates, TemplateEditor};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use claimstream_tokio::{TokioTimer, shutdown_signal};
use tokio::sync::oneshot;

use super::delivery::DeliveryWork;
use crate::{
    OneDatabase,
    board_server::{self, BoardServer},
    config::{Config, DirectorySource, TemplatePlace},
    failure::Failure,
    measuring::Measuring,
    outbox_intake::OutboxIntake,
    receipt_providers::receipt_providers,
    second_signal::second_signal,
    source_check::SourceCheck,
    stopping::Stopping,
    template_desk::EditorDesk,
    template_source,
    wakeups::Wakeups,
};

/// What a server does, in addition to taking notifications in.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// It delivers.
    pub(super) relay: bool,
    /// It shows the board.
    pub(super) board: bool,
}

/// Takes notifications in over HTTP until a signal stops it, and runs the relay and the board if the options name them.
pub(super) async fn run(options: Options, config: &Config, timer: TokioTimer) -> Result<ExitCode, Failure> {
    let tokens = config.serve.callers()?;
    let receipts = receipt_providers(&config.channels)?;
    let links = config.notifications.consents.unsubscribe_keys()?;
    let inbox_keys = config.serve.inbox_keys()?;
    let board = if options.board { Some(BoardServer::start(&config.board, timer).await?) } else { None };
    let mut measuring = Measuring::start(config, timer).await?;
    let OneDatabase { name, config: own, .. } = intake(config)?;
    let label = name.as_ref().map(|name| DatabaseLabel::named(name.as_str())).unwrap_or_default();
    let telemetry = measuring.telemetry_in(&label);
    let database = own.database.used_for(Capability::Notifications);
    let outbox = Measuring::open(telemetry.as_ref(), &database).await?;
    let stopping = Stopping::default();
    let wakeups = Arc::new(match options.relay {
        true => Wakeups::of_relay(&own),
        false => Wakeups::of_writer(&own),
    });
    let delivery = match (options.relay, name) {
        (false, _) => DeliveryWork::None,
        (true, None) => DeliveryWork::one(&wakeups, telemetry, &outbox, config, timer)?,
        (true, Some(name)) => DeliveryWork::several((name, Arc::clone(&wakeups)), config, &measuring, timer)?,
    };
    let board = board_server::run(board, &outbox, config);
    let config = &own;
    let limits = config.serve.limits.clone();
    let stores = stores(&outbox, wakeups, config)?;
    let service = match &tokens {
        Some(tokens) => Service::new(stores, Arc::new(timer), tokens.clone(), limits),
        None => Service::without_tokens(stores, Arc::new(timer), limits),
    };
    let service = measuring.of_service(service.with_receipts(receipts), timer);
    let probes = delivery.probes(&mut measuring, &outbox, &stopping);
    let service = match links {
        Some(keys) => service.with_unsubscribe_links(keys),
        None => service,
    };
    let service = match inbox_keys {
        Some(keys) => service.with_inbox_keys(keys),
        None => service,
    };
    let address = config.serve.listen;
    let refused = |e| Failure::Refused(format!("`serve.listen`: {address} cannot be listened at: {e}"));
    let server = Server::bind(address, Arc::new(timer)).await.map_err(refused)?;
    let address = server.address().map_err(refused)?;
    let callers =
        tokens.as_ref().map_or_else(|| "every user of this machine".into(), |t| t.describe().join("; "));
    tracing::info!(%address, callers, "server started; /docs shows its routes");
    let (tell, first_signal) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    let signal = shutdown_signal()?;
    let shutdown = async {
        signal.await;
        stopping.begin();
        tracing::info!(
            drain_seconds = config.serve.limits.drain.as_secs_f64(),
            "server stops after the requests in hand; a second signal stops it at once"
        );
        // The send fails only if everything has ended meanwhile.
        let _ = tell.send(());
    };
    let serving = async {
        report(server.run_until(service, shutdown).await);
        let _ = stop.send(());
    };
    let delivering = delivery.run(&outbox, config, stopped);
    let ended = tokio::select! {
        ended = async { tokio::join!(serving, delivering).1 } => ended,
        interrupted = second_signal(first_signal) => return Ok(interrupted?),
        never = probes => match never {},
        never = board => match never {},
    };
    measuring.finish().await;
    ended
}

fn stores(outbox: &SeaOrmOutbox, wakeups: Arc<Wakeups>, config: &Config) -> Result<Stores, Failure> {
    let shared = Arc::new(outbox.clone());
    let check = |source| Arc::new(SourceCheck(CompiledTemplates::of(source))) as Arc<dyn TemplateCheck>;
    let is_here = config.templates.source == TemplatePlace::Database;
    let desk = || Arc::new(EditorDesk(TemplateEditor::new(shared.clone()))) as Arc<dyn TemplateDesk>;
    Ok(Stores {
        intake: Arc::new(OutboxIntake { outbox: outbox.clone(), wakeups }),
        requests: shared.clone(),
        reports: shared.clone(),
        receipts: shared.clone(),
        preferences: shared.clone(),
        template_check: template_source(config, outbox)?.map(check),
        templates: is_here.then(desk),
        list: shared.clone(),
        people: people(&shared, config),
        in_app: shared,
    })
}

/// The stores of recipients; the directory is one of them where the database keeps it.
fn people(outbox: &Arc<SeaOrmOutbox>, config: &Config) -> RecipientStores {
    let directory = || Directory { users: outbox.clone(), segments: outbox.clone() };
    let is_here = config.directory.source == DirectorySource::Database;
    let directory = is_here.then(directory);
    RecipientStores { directory, erase: outbox.clone(), suppressions: outbox.clone() }
}

/// The database that takes in what comes over HTTP.
fn intake(config: &Config) -> Result<OneDatabase, Failure> {
    match (&config.serve.database, config.has_several_databases()) {
        (Some(name), true) => Ok(config.database_named(name)?),
        (None, true) => {
            let why = "several databases are configured; set serve.database to the name of the one that takes in what comes \
                       over HTTP, or name one with --database NAME to serve it alone";
            Err(Failure::Usage(why.into()))
        }
        (_, false) => Ok(OneDatabase { name: None, drain: false, config: config.clone() }),
    }
}

fn report(drained: Drained) {
    match drained {
        Drained::Wholly => tracing::info!("server stopped"),
        Drained::Partly => tracing::warn!("server stopped; connections were still open after serve.drain"),
    }
}
