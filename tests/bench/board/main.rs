//! Measures on a real server, with very many live and dead messages, how soon each page of the board answers, and what
//! viewers cost the server under load.
//!
//! `cargo run --release -p claimstream-bench --bin board -- --server mysql-9.7`
//!
//! It follows the links of every page, as a person would, and reads one page of each kind. The board has a user of its own on the server,
//! whose connections are counted apart: what a load takes differs from one minute to the next by more than a board takes. It fails if
//! a target is not met.
#![forbid(unsafe_code)]

mod account;
mod load;
mod pages;
mod rows;
mod snapshots;
mod viewers;

use std::{process::ExitCode, sync::Arc, time::Duration};

use axum::Router;
use claimstream_board::{Board, BoardStores};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::PrivateServer;
use claimstream_tokio::TokioTimer;
use clap::Parser;
use sea_orm::sqlx::{Connection, MySqlConnection};

use crate::{account::Account, load::Load, pages::Pages, snapshots::Snapshots, viewers::Viewers};

/// How soon each page of the board answers, and what viewers cost the server.
#[derive(Parser)]
struct Options {
    /// The server, such as mariadb-10.11, which is started unless it runs.
    #[arg(long, default_value = "mariadb-10.11")]
    server: String,
    /// How many messages live at least.
    #[arg(long, default_value_t = 1_000_000)]
    live: u64,
    /// How many dead letters there are at least.
    #[arg(long, default_value_t = 1_000_000)]
    dead: u64,
    /// How often each page is read.
    #[arg(long, default_value_t = 9)]
    times: u32,
    /// How many people look at the board.
    #[arg(long, default_value_t = 10)]
    viewers: u64,
    /// How many messages a second are enqueued and handled meanwhile.
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// For how many seconds they look. A board that counts for long does so every five minutes.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

/// What is asked of the board.
const SLOWEST: Duration = Duration::from_millis(200);
const SHARE: f64 = 0.02;
/// A second, and what a look may add.
const LONGEST_SNAPSHOT: Duration = Duration::from_millis(1_100);
/// How long people look before the first measurement, so that the board has counted.
const WARM_UP: Duration = Duration::from_secs(10);

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match measure(&Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("board: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(options: &Options) -> Result<bool, Failure> {
    let server = PrivateServer::find(&options.server, None, "board").await?;
    println!("{}: {}", options.server, server.version().await?);
    let outbox = SeaOrmOutbox::open(&server.url(), OpenOptions::default()).await?;
    let mut connection = MySqlConnection::connect(&server.url()).await?;
    let (live, dead) = rows::fill(&outbox, &mut connection, options.live, options.dead).await?;
    println!("{live} live messages, {dead} dead letters");

    let (mut account, url) = Account::create(connection, &server.url()).await?;
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await?;
    let stores = BoardStores::of(Arc::new(outbox));
    let board = Board::for_everyone(stores, Arc::new(TokioTimer::new()));
    let router = board.router();
    let snapshots = Snapshots::watch(MySqlConnection::connect(&server.url()).await?, Account::NAME);
    let pages = Pages::find(&router).await?;
    let are_fast = time(&router, &pages, options.times).await?;
    // It counts as long as there is a router of it.
    drop(router);
    let load = Load::start(&server.url(), options.rate).await?;
    let is_cheap = compare(&board, &pages, &mut account, options).await?;
    println!("{} messages handled meanwhile", load.stop().await?);
    account.drop().await?;
    let longest = snapshots.longest();
    let are_short = longest.lasted < LONGEST_SNAPSHOT;
    println!(
        "the longest transaction, to the second: {:.2?}; none of more than a second: {}",
        longest.lasted,
        met(are_short)
    );
    if !are_short {
        println!("it ran: {}", longest.statement);
    }
    Ok(are_fast && is_cheap && are_short)
}

/// Reads each page several times; whether none takes too long.
async fn time(router: &Router, pages: &Pages, times: u32) -> Result<bool, Failure> {
    let mut are_fast = true;
    for page in pages.all() {
        let (mut took, mut is_whole) = (Vec::new(), true);
        for _ in 0..times.max(1) {
            let answer = pages::read(router, &page.address).await?;
            took.push(answer.took);
            is_whole &= answer.is_whole;
        }
        let first = took[0];
        took.sort_unstable();
        let (median, most) = (took[took.len() / 2], took[took.len() - 1]);
        let refused = if is_whole { "" } else { "  refused: 503" };
        println!("{:<40} first {first:>7.1?}  median {median:>7.1?}  most {most:>7.1?}{refused}", page.shape);
        are_fast &= is_whole && most <= SLOWEST;
    }
    println!("each page within {SLOWEST:?}: {}", met(are_fast));
    Ok(are_fast)
}

/// Looks at the server without a board, with one that people look at, and without again; whether the board and the people take
/// little of its processor time.
async fn compare(
    board: &Board,
    pages: &Pages,
    account: &mut Account,
    options: &Options,
) -> Result<bool, Failure> {
    let watched = Duration::from_secs(options.seconds);
    let before = load_alone(account, watched / 4).await;
    // A process serves one router for days: its first counts are no part of it.
    let router = board.router();
    Viewers { count: options.viewers, lasts: WARM_UP }.look(&router, pages).await?;
    let server = account.process().cpu_seconds();
    let looking = Viewers { count: options.viewers, lasts: watched };
    let (read, own) = account.watch(looking.look(&router, pages)).await?;
    let server = account.process().cpu_seconds() - server;
    drop(router);
    let after = load_alone(account, watched / 4).await;
    let per_second = |spent: f64| 1e3 * spent / watched.as_secs_f64();
    let (without, more) = (f64::midpoint(before, after), per_second(own));
    println!("{read} pages read by {} viewers", options.viewers);
    println!(
        "server, in ms of processor time a second: {before:.1} without a board before, {:.1} with it, {after:.1} without it afterwards",
        per_second(server)
    );
    println!(
        "the board's own connections: {more:.2}, {:.2} % of the load without it",
        100.0 * more / without
    );
    let is_cheap = more <= without * SHARE;
    println!("less than {:.0} % of the server's load: {}", 100.0 * SHARE, met(is_cheap));
    Ok(is_cheap)
}

/// The server's processor time without a board, in milliseconds a second.
async fn load_alone(account: &Account, lasts: Duration) -> f64 {
    let before = account.process().cpu_seconds();
    tokio::time::sleep(lasts).await;
    1e3 * (account.process().cpu_seconds() - before) / lasts.as_secs_f64()
}

fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "NOT MET" }
}
