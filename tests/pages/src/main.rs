//! The code that the pages under docs/ show, compiled, a file for each page; an invariant compares the two line by line.
//! What needs no server is also run, on SQLite.
#![forbid(unsafe_code)]

mod getting_started;
mod inbox;
mod locks;
mod notifications;
mod order;
mod pipelines;
mod preferences;
mod providers;
mod reading;
mod readme;
mod retention;
mod sagas;
mod sea_orm_and_sqlx;
mod smol;
mod tcc;
mod testing;
mod timer_events;
mod traces;
mod wakeups;
mod writing;

use std::process::ExitCode;

use claimstream_suite::*;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let mut suite = Suite::default();
    suite.add_async_test("memory::pages::the_code_of_the_page_of_testing_runs", testing::runs());
    suite.add_async_test("sqlite::pages::the_code_of_the_page_of_the_inbox_runs", inbox::runs());
    suite.add_async_test("sqlite::pages::the_code_of_the_page_of_notifications_runs", notifications::runs());
    suite.add_async_test("sqlite::pages::the_code_of_the_page_of_preferences_runs", preferences::runs());
    suite.add_async_test("sqlite::pages::the_code_of_the_page_of_providers_runs", providers::runs());
    suite.add_async_test("sqlite::pages::the_code_of_the_page_of_sagas_runs", sagas::runs());
    suite.add_test("sqlite::pages::the_code_of_the_page_of_smol_runs", smol::runs);
    suite.add_async_test("sqlite::pages::the_code_of_the_page_of_tcc_runs", tcc::runs());
    suite.run(|name| std::env::var(name).ok())
}
