//! People pay each other in points and in money at once, over five databases, while a worker is killed every second.
//!
//! `cargo run --release -p claimstream-kills --bin points_and_balance`
//!
//! The flow is [`payments`]: two debits that may be refused, the pivot, two credits that may not. A customer who cannot pay is
//! notified, in the transaction that calls the payment off.
#![forbid(unsafe_code)]

#[path = "../bank/mod.rs"]
mod bank;

use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    Invalid, Reason,
    notification::{Channel, Content, NotificationRequest, RecipientReference, Requester, RequesterKind},
};
use claimstream_ports::notification::SubmitRequests;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::saga::{Saga, SagaConfig, SagaRun, StepFailure};
use claimstream_tokio::TokioTimer;
use futures::future::BoxFuture;
use sea_orm::DatabaseTransaction;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::bank::{Business, Failure, account, books::Steps, play};

/// Who pays whom how many points and how much money.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Payment {
    from: u32,
    to: u32,
    points: i64,
    balance: i64,
}

/// The whole flow.
fn payments(all: &[SeaOrmOutbox]) -> Result<Saga<Payment, SeaOrmOutbox>, Invalid> {
    let home = all[HOME].clone();
    let (a, b, c, d) = (all.to_vec(), all.to_vec(), all.to_vec(), all.to_vec());
    Saga::list("payment", home.clone(), Arc::new(TokioTimer::new()))
        .on_call_off(move |tx, run, why| tell(home.clone(), tx, run, why))
        .at(move |payment: &Payment| a[points_of(payment.from)].clone())
        .step("points_out", points_out, points_back)
        .at(move |payment| b[balance_of(payment.from)].clone())
        .step("balance_out", balance_out, balance_back)
        .pivot()
        .at(move |payment| c[points_of(payment.to)].clone())
        .step("points_in", points_in)
        .at(move |payment| d[balance_of(payment.to)].clone())
        .step("balance_in", balance_in)
        .build(SagaConfig { check_after: Duration::from_secs(5), ..SagaConfig::default() })
}

type Done<'a> = BoxFuture<'a, Result<(), StepFailure>>;
type Run<'a> = &'a SagaRun<Payment>;

fn points_out<'a>(tx: &'a DatabaseTransaction, run: Run<'a>) -> Done<'a> {
    Box::pin(account::book(tx, run.id(), "points_out", ("points", run.input().from), -run.input().points))
}

fn points_back<'a>(tx: &'a DatabaseTransaction, run: Run<'a>) -> Done<'a> {
    Box::pin(account::book(tx, run.id(), "points_back", ("points", run.input().from), run.input().points))
}

fn balance_out<'a>(tx: &'a DatabaseTransaction, run: Run<'a>) -> Done<'a> {
    Box::pin(account::book(tx, run.id(), "balance_out", ("balance", run.input().from), -run.input().balance))
}

fn balance_back<'a>(tx: &'a DatabaseTransaction, run: Run<'a>) -> Done<'a> {
    Box::pin(account::book(tx, run.id(), "balance_back", ("balance", run.input().from), run.input().balance))
}

fn points_in<'a>(tx: &'a DatabaseTransaction, run: Run<'a>) -> Done<'a> {
    Box::pin(account::book(tx, run.id(), "points_in", ("points", run.input().to), run.input().points))
}

fn balance_in<'a>(tx: &'a DatabaseTransaction, run: Run<'a>) -> Done<'a> {
    Box::pin(account::book(tx, run.id(), "balance_in", ("balance", run.input().to), run.input().balance))
}

/// Tells the payer, once, because the payment is called off once.
fn tell<'a>(home: SeaOrmOutbox, tx: &'a DatabaseTransaction, run: Run<'a>, why: &'a Reason) -> Done<'a> {
    let content = Content {
        title: Some("Your payment was not made".into()),
        body: Some(why.as_str().into()),
        ..Content::default()
    };
    let request = NotificationRequest {
        id: Uuid::new_v5(&run.id().uuid(), b"called off"),
        requester: Requester { kind: RequesterKind::Service, id: "payments".into() },
        recipients: vec![RecipientReference::User { user: run.input().from.to_string() }],
        channels: vec![Channel::Email],
        content: Some(content),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        expires_at: None,
        sender: Default::default(),
        category: None,
        priority: Default::default(),
        memo: None,
        headers: Default::default(),
    };
    Box::pin(async move {
        home.submit(tx, &[request]).await?;
        Ok(())
    })
}

const USERS: u32 = 20;
const HOME: usize = 0;

fn points_of(user: u32) -> usize {
    1 + user as usize % 2
}

fn balance_of(user: u32) -> usize {
    3 + user as usize % 2
}

struct Payments;

impl Business for Payments {
    type Input = Payment;

    const NAME: &'static str = "points_and_balance";

    const DATABASES: usize = 5;
    const KINDS: &'static [&'static str] = &["balance", "points"];
    const STEPS: Steps = &[
        ("points_out", Some("points_back")),
        ("balance_out", Some("balance_back")),
        ("points_in", None),
        ("balance_in", None),
    ];

    fn homes(_: &[SeaOrmOutbox]) -> Vec<usize> {
        vec![HOME]
    }

    fn saga(_: usize, databases: &[SeaOrmOutbox]) -> Result<Saga<Payment, SeaOrmOutbox>, Invalid> {
        payments(databases)
    }

    async fn open_accounts(databases: &[SeaOrmOutbox]) -> Result<(), Failure> {
        for user in 0..USERS {
            account::open(&databases[points_of(user)], "points", user, 1_000).await?;
            account::open(&databases[balance_of(user)], "balance", user, 10_000).await?;
        }
        Ok(())
    }

    /// One account pays another; in one payment of ten the points are there and the balance never is.
    fn input(number: usize) -> (usize, Payment) {
        let number = number as u32;
        let (from, step) = (number * 7 % USERS, 1 + number * 13 % (USERS - 1));
        let balance = if number % 10 == 9 { 1_000_000 } else { 1 + i64::from(number * 31 % 500) };
        let points = 1 + i64::from(number * 17 % 50);
        (HOME, Payment { from, to: (from + step) % USERS, points, balance })
    }

    async fn complaint(databases: &[SeaOrmOutbox], failed: usize) -> Result<Option<String>, Failure> {
        let notified = "SELECT COUNT(*) FROM claimstream_notification_request";
        let notified = account::number(&databases[HOME], notified, []).await?;
        println!("payers notified: {notified}");
        Ok((notified != i64::try_from(failed)? || failed == 0)
            .then(|| format!("{failed} payments failed and {notified} payers were notified")))
    }
}

#[tokio::main]
async fn main() {
    play::<Payments>().await;
}
