use std::{sync::Arc, time::Duration};

use claimstream::{Lease, Relay, RelayConfig};
use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqPublisher};
use claimstream_domain::publishing::{EventMode, Route, RouteTemplate};
use claimstream_publishing::PublishHandler;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use super::{QUEUE, databases::options, helper::setting};

pub(super) const NAME: &str = "relay";

/// Publishes until it is killed.
pub(super) async fn run() {
    let outbox = Arc::new(SeaOrmOutbox::open(&setting("OUTBOX"), options()).await.unwrap());
    let publisher = RabbitMqPublisher::new(RabbitMqConfig::new(&setting("BROKER")).unwrap());
    let route = Route { place: RouteTemplate::new(&setting("QUEUE")).unwrap(), events: EventMode::Plain };
    let handler = PublishHandler::new("rabbitmq", Arc::new(publisher), route, Arc::new(TokioTimer::new()));
    let lease = Lease::new(Duration::from_secs(3)).unwrap();
    let config = RelayConfig { lease, ..RelayConfig::default() };
    let relay = Relay::new(outbox, TokioTimer::new(), config);
    relay.batch_pipeline(QUEUE, handler).unwrap().run_until(std::future::pending()).await.unwrap();
}
