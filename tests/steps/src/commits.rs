//! Effects with a statement that commits by itself, and that fail after it: a part of each stands, which nothing may take for the effect.
//! Promise: an effect that failed is not taken for one that was had, also where a part of it stands

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Compose, RelayConfig, Verdict};
use claimstream_domain::{
    Claimed, NewMessage, Payload, QueueName, Reason, Received, RetryPolicy,
    tcc::{Branch, BranchCall, BranchName, GlobalId, Operation},
};
use claimstream_ports::{ConsumeError, Delivery, Handler, Hold, tcc::Participant, tcc::ParticipantError};
use claimstream_sea_orm::{Dialect, FrozenClock, OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::{
    inbox::{Consumer, Handed, Inbox, StepError},
    saga::{Saga, SagaConfig, SagaError, SagaId, StepFailure},
    tcc::{CoordinatorConfig, LocalParticipant, Resource, ResourceError},
    timer_event::{Alarm, DecisionError, EventScheme, Schedule, Tick, Ticked, TimerEvents},
};
use claimstream_tokio::TokioTimer;
use futures::future::BoxFuture;
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use uuid::Uuid;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the effects on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add_everywhere(suite, "sqlite", || SeaOrmBackend::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        add_everywhere(suite, server.name, move || SeaOrmBackend::server(server.name, &url, "auto"));
    }
}

fn add_everywhere(
    suite: &mut Suite,
    name: &'static str,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    let mut add = |what: &str, run: fn(Setup) -> BoxFuture<'static, ()>| {
        let backend = backend.clone();
        suite.add_async_test(&format!("{name}::commits::{what}"), async move {
            run(Setup::of(&backend()).await).await;
        });
    };
    // Guard: a failed effect is proven to be rolled back | app/steps/src/effect.rs: `is_undone` answers `Ok` at
    // once
    // Guard: a message of whose effect a part stands is no repeat | app/steps/src/inbox/once.rs: no `whole`
    add("a_part_of_an_inboxs_effect_is_no_repeat", |setup| Box::pin(inbox(setup)));
    add("a_part_of_an_effect_of_a_delivery_is_refused", |setup| Box::pin(consumption(setup)));
    // Guard: a change of a step has an origin of its own | adapters/sea-orm/src/sql/steps/change.sql: no
    // `origin`
    add("a_saga_with_a_part_of_a_step_is_broken_there_and_back", |setup| Box::pin(saga(setup)));
    add("a_part_of_a_decision_is_no_success", |setup| Box::pin(timer(setup)));
    add("a_branch_with_a_part_of_an_effect_refuses_every_call", |setup| Box::pin(branch(setup)));
}

struct Setup {
    outbox: Arc<SeaOrmOutbox>,
    instance: Instance,
    clock: FrozenClock,
    /// How many effects were begun.
    begun: Arc<AtomicUsize>,
}

impl Setup {
    async fn of(backend: &SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let clock = FrozenClock::at(Fixture::start().as_micros());
        let options = OpenOptions { frozen_clock: Some(clock.clone()), ..backend.options() };
        let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
        Self { outbox: Arc::new(outbox), instance, clock, begun: Arc::default() }
    }

    /// What ends a transaction on the database by itself. A deadlock is none of these: it leaves nothing.
    fn statements(&self) -> &'static [&'static str] {
        match self.outbox.dialect() {
            Dialect::Sqlite => &["COMMIT", "COMMIT; BEGIN IMMEDIATE"],
            Dialect::MySql => &["COMMIT", "CREATE TABLE IF NOT EXISTS other (id INT)", "START TRANSACTION"],
        }
    }

    /// An effect that sends the statement and fails.
    fn effect(&self, statement: &'static str) -> Effect {
        Effect { statement, begun: Arc::clone(&self.begun) }
    }

    fn begun(&self) -> usize {
        self.begun.swap(0, Ordering::SeqCst)
    }

    async fn claimed(&self) -> Claimed {
        let message = NewMessage::json(self.instance.queue().clone(), &7).expect("a message");
        self.outbox.enqueue_now(&[message]).await.expect("enqueue");
        self.instance.take_one().await
    }

    fn inbox(&self) -> Inbox<SeaOrmOutbox> {
        Inbox::new(self.outbox.clone(), &RelayConfig::default()).expect("an inbox")
    }
}

#[derive(Clone)]
struct Effect {
    statement: &'static str,
    begun: Arc<AtomicUsize>,
}

impl Effect {
    async fn fail<E: From<claimstream_ports::StoreError>>(
        &self,
        tx: &DatabaseTransaction,
        why: E,
    ) -> Result<(), E> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        tx.execute_unprepared(self.statement).await.map_err(|e| store_error("effect", e))?;
        Err(why)
    }
}

fn billing() -> Consumer {
    Consumer::new("billing").expect("a consumer")
}

fn says_that_a_part_stands(why: &Reason) -> bool {
    why.as_str().contains("a part of it stands")
}

async fn inbox(setup: Setup) {
    for statement in setup.statements() {
        let (effect, claimed) = (setup.effect(statement), setup.claimed().await);
        let handler = setup.inbox().handler(billing(), TokioTimer::new(), move |tx, _| {
            let effect = effect.clone();
            Box::pin(async move {
                effect.fail(tx, StepError::nack("not now")).await?;
                unreachable!("the effect fails")
            })
        });
        for _ in 0..3 {
            let verdict = handler.handle(&claimed).await;
            let Verdict::Bury { reason } = verdict else { panic!("{statement}: {verdict:?}") };
            assert!(says_that_a_part_stands(&reason), "{statement}: {reason}");
        }
        assert_eq!(setup.begun(), 1, "{statement}");
    }
}

/// A delivery that nothing is done about.
struct Held;

#[async_trait]
impl Hold for Held {
    async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
        panic!("the broker was answered that it is done")
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        Ok(())
    }
}

async fn consumption(setup: Setup) {
    for statement in setup.statements() {
        let effect = setup.effect(statement);
        let retry = RetryPolicy { max_attempts: 5, ..RetryPolicy::default() };
        let consumption = setup.inbox().consumption(billing(), TokioTimer::new(), retry, move |tx, _| {
            let effect = effect.clone();
            Box::pin(async move {
                effect.fail(tx, StepError::nack("not now")).await?;
                unreachable!("the effect fails")
            })
        });
        for _ in 0..2 {
            let (id, place, body) = ((*statement).to_owned(), "orders".to_owned(), Payload::json("7"));
            let headers = Default::default();
            let received = Received { id, place, key: None, attributes: Vec::new(), headers, body };
            let handed = consumption.hand(Delivery::new(received, 1, Box::new(Held))).await.expect("an end");
            let Handed::Refused(_, reason) = handed else { panic!("{statement}: {handed:?}") };
            assert!(says_that_a_part_stands(&reason), "{statement}: {reason}");
        }
        assert_eq!(setup.begun(), 1, "{statement}");
    }
}

/// The step fails on the way forward, or is refused and fails on the way back.
async fn saga(setup: Setup) {
    for (n, statement) in setup.statements().iter().enumerate() {
        for forward_fails in [true, false] {
            let (there, back) = (setup.effect(statement), setup.effect(statement));
            let (one, two) = (setup.outbox.clone(), setup.outbox.clone());
            let saga = Saga::list(&format!("pay-{n}-{forward_fails}"), (*setup.outbox).clone(), timer_of())
                .at(move |_: &u32| (*one).clone())
                .step(
                    "debit",
                    move |tx, _| {
                        let there = there.clone();
                        Box::pin(async move {
                            match forward_fails {
                                true => there.fail(tx, StepFailure::transient("not now")).await,
                                false => Ok(()),
                            }
                        })
                    },
                    move |tx, _| {
                        let back = back.clone();
                        Box::pin(async move { back.fail(tx, StepFailure::transient("not now")).await })
                    },
                )
                .at(move |_: &u32| (*two).clone())
                .step(
                    "credit",
                    |_, _| Box::pin(async { Err(StepFailure::business("refused")) }),
                    |_, _| Box::pin(async { Ok(()) }),
                )
                .build(SagaConfig::default())
                .expect("a saga");
            let id = SagaId::new(Uuid::now_v7());
            for _ in 0..2 {
                let ended = saga.start(id, "anna", 7).await;
                let Err(SagaError::Broken { reason, .. }) = ended else { panic!("{statement}: {ended:?}") };
                assert!(says_that_a_part_stands(&reason), "{statement}: {reason}");
            }
            assert_eq!((setup.begun(), saga.tally().alarms), (1, 1), "{statement}");
        }
    }
}

fn timer_of() -> Arc<TokioTimer> {
    Arc::new(TokioTimer::new())
}

async fn timer(setup: Setup) {
    for (n, statement) in setup.statements().iter().enumerate() {
        let effect = setup.effect(statement);
        let queue = |name: &str| QueueName::new(&format!("{name}-{n}")).expect("a queue");
        let schedule =
            Schedule::every_through(Fixture::start(), Duration::from_secs(60)).expect("a schedule");
        let scheme = EventScheme::new(
            format!("bill-{n}").parse().expect("a name"),
            schedule,
            Alarm::to_queue(queue("alarms")),
        )
        .decision("book".parse().expect("a name"), move |tx, _| {
            let effect = effect.clone();
            Box::pin(async move { effect.fail(tx, DecisionError::failed("not now")).await })
        });
        let tick =
            Tick { scheme: format!("bill-{n}").parse().expect("a name"), occurrence: Fixture::start() };
        let events = TimerEvents::new(setup.outbox.clone(), TokioTimer::new(), queue("timers"));
        let events = events.with(scheme).expect("a scheme");
        for _ in 0..2 {
            let ticked = events.visit(&tick).await.expect("a visit");
            let Some(Ticked::Failed { decisions }) = ticked else { panic!("{statement}: {ticked:?}") };
            assert!(says_that_a_part_stands(&decisions[0].1), "{statement}: {decisions:?}");
        }
        assert_eq!(setup.begun(), 1, "{statement}");
    }
    setup.clock.advance(Duration::from_secs(3600));
}

struct Failing(Effect);

#[async_trait]
impl Resource<DatabaseTransaction> for Failing {
    async fn reserve(&self, tx: &DatabaseTransaction, _: &BranchCall) -> Result<(), ResourceError> {
        self.0.fail(tx, ResourceError::refused("too little")).await
    }

    async fn confirm(&self, tx: &DatabaseTransaction, _: &BranchCall) -> Result<(), ResourceError> {
        self.0.fail(tx, ResourceError::refused("too little")).await
    }

    async fn release(&self, tx: &DatabaseTransaction, _: &BranchCall) -> Result<(), ResourceError> {
        self.0.fail(tx, ResourceError::refused("too little")).await
    }
}

async fn branch(setup: Setup) {
    for (n, statement) in setup.statements().iter().enumerate() {
        let participant = LocalParticipant::new(
            setup.outbox.clone(),
            timer_of(),
            Failing(setup.effect(statement)),
            &CoordinatorConfig::default(),
        )
        .expect("a participant");
        let gid = GlobalId::new(&format!("order-{n}")).expect("an id");
        let branch = Branch {
            name: BranchName::new("stock").expect("a name"),
            participant: "stock".into(),
            payload: serde_json::json!(3),
        };
        for operation in [Operation::Try, Operation::Try, Operation::Cancel, Operation::Confirm] {
            let done = participant.carry_out(&BranchCall::new(&gid, &branch, operation)).await;
            let Err(ParticipantError::Refused { reason }) = done else { panic!("{statement}: {done:?}") };
            assert!(says_that_a_part_stands(&reason), "{statement}, {operation}: {reason}");
        }
        assert_eq!(setup.begun(), 1, "{statement}");
    }
}
