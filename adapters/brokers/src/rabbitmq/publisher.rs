use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use async_trait::async_trait;
use claimstream_domain::{Publication, Published, Reason};
use claimstream_ports::Publish;
use futures::{StreamExt, stream::FuturesUnordered};
use lapin::{
    Confirmation, ExchangeKind,
    options::{BasicPublishOptions, ExchangeDeclareOptions, QueueDeclareOptions},
    types::{FieldTable, ShortString},
};

use super::{
    config::RabbitMqConfig,
    confirm_channel::{BLOCKED, ConfirmChannel, ConfirmChannels},
    error_kind::ChannelErrorKind,
    properties::properties_of,
    route::ExchangeRoute,
};
use crate::{answers::Answers, waves::TOO_LATE};

/// Publishes to a RabbitMQ with publisher confirms.
///
/// All publications of a call are outstanding together, save those of one ordering key, of which each waits for the one before
/// it. Calls that run at the same time have a connection each, so that none disturbs another; a connection is kept for the next call.
pub struct RabbitMqPublisher {
    lines: ConfirmChannels,
}

impl RabbitMqPublisher {
    /// A publisher with this configuration; it connects at the first call.
    pub fn new(config: RabbitMqConfig) -> Self {
        Self { lines: ConfirmChannels::to(config) }
    }

    /// Connects, and says what is in the way otherwise.
    pub async fn reach(&self) -> Result<(), Reason> {
        let line = self.lines.take().await.map_err(Reason::new)?;
        self.lines.keep(line);
        Ok(())
    }

    /// What is missing at this place, as far as the broker says: its exchange, or its queue. Whether an exchange routes a message to a queue is
    /// not asked.
    pub async fn lacks(&self, place: &str) -> Option<Reason> {
        let route = match ExchangeRoute::of(place) {
            Ok(route) => route,
            Err(why) => return Some(Reason::new(why)),
        };
        let line = self.lines.take().await.ok()?;
        let Some(answer) = self.lines.config().deadline().within(ask_for(&line, &route)).await else {
            self.lines.give_up(line);
            return None;
        };
        self.lines.keep(line);
        let Err(error) = answer else { return None };
        match (ChannelErrorKind::of(&error), route.exchange.as_str()) {
            (ChannelErrorKind::NoExchange, "") => {
                let queue = route.routing_key.as_str();
                Some(Reason::new(format_args!("RabbitMQ has no queue {queue:?}; declare it")))
            }
            (ChannelErrorKind::NoExchange, exchange) => {
                Some(Reason::new(format_args!("RabbitMQ has no exchange {exchange:?}; declare it")))
            }
            _ => None,
        }
    }
}

/// An error says that what the route leads to is not there, or that the channel is gone.
async fn ask_for(line: &ConfirmChannel, route: &ExchangeRoute) -> lapin::Result<()> {
    if route.exchange.as_str().is_empty() {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let asked = line.channel.queue_declare(route.routing_key.clone(), passive, FieldTable::default());
        return asked.await.map(|_| ());
    }
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let (exchange, kind) = (route.exchange.clone(), ExchangeKind::Direct);
    line.channel.exchange_declare(exchange, kind, passive, FieldTable::default()).await
}

#[async_trait]
impl Publish for RabbitMqPublisher {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let mut call = RabbitMqCall::of(&self.lines, publications);
        match call.run().await {
            Ok(()) => call.answers.finish("the broker said nothing of it"),
            Err(why) => call.answers.finish(&why),
        }
    }
}

impl fmt::Debug for RabbitMqPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqPublisher").field("config", self.lines.config()).finish_non_exhaustive()
    }
}

/// One call of `publish`, on its way.
struct RabbitMqCall<'a> {
    lines: &'a ConfirmChannels,
    publications: &'a [Publication],
    routes: Vec<Result<ExchangeRoute, String>>,
    answers: Answers<'a>,
    /// Exchanges that the broker has said it does not have.
    missing: HashSet<ShortString>,
    /// What the broker has said it does not take now, and why.
    barred: HashMap<ExchangeRoute, String>,
}

impl<'a> RabbitMqCall<'a> {
    fn of(lines: &'a ConfirmChannels, publications: &'a [Publication]) -> Self {
        let routes = publications.iter().map(|publication| ExchangeRoute::of(&publication.place)).collect();
        Self {
            lines,
            publications,
            routes,
            answers: Answers::to(publications, lines.config().timer()),
            missing: HashSet::new(),
            barred: HashMap::new(),
        }
    }

    /// Sends everything; an error says why the rest was not confirmed.
    async fn run(&mut self) -> Result<(), String> {
        while let Some(wave) = self.answers.next_wave() {
            self.refuse_unsendable(&wave);
            let open = self.answers.open(&wave);
            if let Some(cause) = self.send(&open).await? {
                self.send_singly(&open, cause).await?;
            }
        }
        Ok(())
    }

    fn refuse_unsendable(&mut self, wave: &[usize]) {
        for at in wave {
            match &self.routes[*at] {
                Err(why) => self.answers.give(*at, Published::refused(why)),
                Ok(route) if self.missing.contains(&route.exchange) => {
                    let why = no_exchange(route);
                    self.answers.give(*at, why);
                }
                Ok(route) => {
                    if let Some(why) = self.barred.get(route) {
                        self.answers.give(*at, closed_over(why));
                    }
                }
            }
        }
    }

    /// Sends these together and notes what is certain.
    ///
    /// If the broker closes the channel over one of them, some have no answer yet, and what the broker said is returned.
    async fn send(&mut self, open: &[usize]) -> Result<Option<ChannelErrorKind>, String> {
        if open.is_empty() {
            return Ok(None);
        }
        let line = match self.lines.take().await {
            Ok(line) => line,
            Err(why) => {
                open.iter().for_each(|at| self.answers.give(*at, Published::unsent(&why)));
                return Err(why);
            }
        };
        let ended = self.outstanding(&line, open).await;
        let troubles = self.note(ended);
        let config = self.lines.config();
        let (lost, over_one): (Vec<_>, Vec<_>) =
            troubles.into_iter().partition(|trouble| matches!(trouble, ChannelErrorKind::Lost(_)));
        if let Some(cause) = over_one.into_iter().next() {
            if let [_] = open {
                self.lines.keep(line);
            }
            return Ok(Some(cause));
        }
        let why = match lost.into_iter().next() {
            Some(ChannelErrorKind::Lost(why)) => format!("the connection to {config} ended: {why}"),
            _ if self.answers.open(open).is_empty() => {
                self.lines.keep(line);
                return Ok(None);
            }
            _ if line.is_blocked() => format!("{config} {BLOCKED}"),
            _ => format!("{config} did not confirm it within {:?}", config.timeout()),
        };
        self.lines.give_up(line);
        Err(why)
    }

    /// Publishes these at once, and waits for the confirmations for as long as the server may take.
    async fn outstanding(&self, line: &ConfirmChannel, open: &[usize]) -> Vec<Settled> {
        let deadline = self.lines.config().deadline();
        let sendable = open.iter().filter_map(|at| Some((*at, self.routes[*at].as_ref().ok()?)));
        let mut outstanding: FuturesUnordered<_> = sendable
            .map(|(at, route)| async move { (at, publish(line, route, &self.publications[at]).await) })
            .collect();
        let mut ended = Vec::with_capacity(open.len());
        while let Some(Some(one)) = deadline.within(outstanding.next()).await {
            ended.push(one);
        }
        ended
    }

    /// Answers what the broker has answered, and returns the errors of the others.
    fn note(&mut self, ended: Vec<Settled>) -> Vec<ChannelErrorKind> {
        let returned = returned(&ended);
        let mut troubles = Vec::new();
        for (at, ended) in ended {
            let is_returned = self.routes[at]
                .as_ref()
                .is_ok_and(|route| returned.contains(&(self.publications[at].id.to_string(), route.clone())));
            match ended {
                _ if is_returned => self.answers.give(at, self.unroutable(at)),
                Ok(Confirmation::Ack(_)) => self.answers.give(at, Published::Confirmed),
                Ok(_) => self.answers.give(at, Published::unavailable(NACK)),
                Err(error) => troubles.push(ChannelErrorKind::of(&error)),
            }
        }
        troubles
    }

    /// Sends what is left of a wave one after the other, because the broker closed the channel over one of them and does not
    /// say which.
    async fn send_singly(&mut self, wave: &[usize], cause: ChannelErrorKind) -> Result<(), String> {
        let open = self.answers.open(wave);
        if let [at] = open[..] {
            self.blame(at, cause);
            return Ok(());
        }
        for at in open {
            // Untested: the test of a call that lasts long ends between two waves
            if self.answers.is_late() {
                self.answers.give(at, Published::unsent(TOO_LATE));
            }
            self.refuse_unsendable(&[at]);
            let open = self.answers.open(&[at]);
            if let Some(cause) = self.send(&open).await? {
                self.blame(at, cause);
            }
        }
        Ok(())
    }

    /// Answers the publication over which the broker closed the channel.
    fn blame(&mut self, at: usize, cause: ChannelErrorKind) {
        let answer = match (cause, &self.routes[at]) {
            (ChannelErrorKind::NoExchange, Ok(route)) => {
                self.missing.insert(route.exchange.clone());
                no_exchange(route)
            }
            (ChannelErrorKind::NoExchange, Err(why)) => Published::refused(why),
            (ChannelErrorKind::Never(why), _) => Published::refused(format!("RabbitMQ refuses it: {why}")),
            (ChannelErrorKind::NotNow(why), Ok(route)) => {
                let answer = closed_over(&why);
                self.barred.insert(route.clone(), why);
                answer
            }
            (ChannelErrorKind::NodeDown(why), _) => Published::unavailable(why),
            (ChannelErrorKind::NotNow(why) | ChannelErrorKind::Lost(why), _) => closed_over(&why),
        };
        self.answers.give(at, answer);
    }

    fn unroutable(&self, at: usize) -> Published {
        match &self.routes[at] {
            Ok(route) => {
                Published::unavailable(format!("no queue takes what goes to {route}; declare or bind one"))
            }
            Err(why) => Published::refused(why),
        }
    }
}

fn no_exchange(route: &ExchangeRoute) -> Published {
    Published::unavailable(format!(
        "RabbitMQ has no exchange {:?}; declare it, or name another in the place",
        route.exchange.as_str()
    ))
}

fn closed_over(why: &str) -> Published {
    Published::unconfirmed(format!("RabbitMQ closed the channel over it: {why}"))
}

const NACK: &str = "RabbitMQ did not take it (basic.nack), as when a queue is full or cannot write";

/// A publication by its place in the call, and how it ended.
type Settled = (usize, lapin::Result<Confirmation>);

/// Hands one publication to the channel at once, and waits for its confirmation.
async fn publish(
    line: &ConfirmChannel,
    route: &ExchangeRoute,
    publication: &Publication,
) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let (exchange, routing_key) = (route.exchange.clone(), route.routing_key.clone());
    let body = publication.body.bytes();
    let sent = line.channel.basic_publish(exchange, routing_key, options, body, properties_of(publication));
    sent.await?.await
}

/// The ids and routes of what the broker gave back.
///
/// The client attaches them to confirmations in an order of its own where one acknowledgement confirms several, so a returned
/// message is known by what it says, not by the confirmation that bears it.
fn returned(ended: &[Settled]) -> HashSet<(String, ExchangeRoute)> {
    let returned = ended.iter().filter_map(|(_, ended)| match ended {
        Ok(Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned))) => {
            Some(&returned.delivery)
        }
        _ => None,
    });
    let marks = returned.filter_map(|delivery| {
        let id = delivery.properties.message_id().as_ref()?.to_string();
        let (exchange, routing_key) = (delivery.exchange.clone(), delivery.routing_key.clone());
        Some((id, ExchangeRoute { exchange, routing_key }))
    });
    marks.collect()
}
