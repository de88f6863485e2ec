//! The board in headless Chromium. `tests/chromium` fetches the browser; without it the tests are named and skipped.
#![allow(clippy::unwrap_used, reason = "tests")]

mod actions;
mod attacks;
mod examined;
mod night;
mod pages;

use std::{panic::AssertUnwindSafe, path::PathBuf, process::ExitCode, sync::Arc};

use claimstream_browser_tests::{Chromium, Failure, Log, Screenshots, Session};
use futures::{FutureExt, future::BoxFuture};
use libtest_mimic::{Arguments, Failed, Trial};

/// What a test gets.
#[derive(Clone)]
struct Visit {
    session: Session,
    screenshots: Screenshots,
    log: Log,
}

type Outcome = Result<(), Failure>;
type Case = fn(Visit) -> BoxFuture<'static, Outcome>;

/// The tests of a file.
macro_rules! cases {
    ($file:literal: $($name:ident),* $(,)?) => {
        vec![$((concat!($file, "::", stringify!($name)), (|visit| Box::pin($name(visit))) as $crate::Case)),*]
    };
}
pub(crate) use cases;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("the board cannot be tested in a browser: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let log = Log::keep();
    let environment = |name: &str| std::env::var(name).ok();
    // They belong to the long tier, and run where ignored tests do.
    let are_wanted = arguments.ignored || arguments.include_ignored;
    let browser = match are_wanted {
        true => Chromium::start(environment)?.ok().map(Arc::new),
        false => None,
    };
    let required = environment("CLAIMSTREAM_REQUIRE_BROWSER").is_some_and(|it| !it.is_empty());
    if are_wanted && browser.is_none() && required {
        return Err("CLAIMSTREAM_REQUIRE_BROWSER is set, and the variables of tests/chromium are not".into());
    }
    let screenshots = Screenshots::at(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("board"))?;
    if browser.is_some() && arguments.filter.is_none() && !arguments.list {
        screenshots.clear()?;
    }
    let tests = cases_of_all_files()
        .into_iter()
        .map(|(name, case)| {
            let (browser, screenshots, log) = (browser.clone(), screenshots.clone(), log.clone());
            let run = move || browser.map_or(Ok(()), |browser| visit(name, case, &browser, screenshots, log));
            Trial::test(name, run).with_kind("long: browser").with_ignored_flag(true)
        })
        .collect();
    let conclusion = libtest_mimic::run(arguments, tests);
    match browser {
        Some(_) => println!("the board in Chromium: screenshots in {}", screenshots.folder().display()),
        None if !are_wanted => {}
        None => println!(
            "skipped: the board in a browser, because no browser is named; `eval \"$(tests/chromium fetch)\"` fetches one"
        ),
    }
    drop(browser);
    Ok(conclusion.exit_code())
}

fn cases_of_all_files() -> Vec<(&'static str, Case)> {
    [pages::cases(), actions::cases(), attacks::cases(), night::cases()].into_iter().flatten().collect()
}

/// Runs a case in a browser of its own, and closes the browser however it ends.
fn visit(
    name: &str,
    case: Case,
    browser: &Chromium,
    screenshots: Screenshots,
    log: Log,
) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let session = browser.session().await.map_err(|e| e.to_string())?;
        let visit = Visit { session: session.clone(), screenshots: screenshots.clone(), log };
        let outcome = AssertUnwindSafe(case(visit)).catch_unwind().await;
        if !matches!(outcome, Ok(Ok(()))) {
            let _ = screenshots.take(&session, &format!("failed {name}")).await;
        }
        let ended = session.end().await;
        match outcome {
            Ok(Ok(())) => ended.map_err(|e| e.to_string().into()),
            Ok(Err(failure)) => Err(failure.to_string().into()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
