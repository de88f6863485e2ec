//! Promise: the program ends with the exit codes of `docs/exit-codes.md`

use claimstream_cli::Exit;

use crate::operator::{Operator, request};

const PAGE: &str = include_str!("../../../../docs/exit-codes.md");

#[test]
fn the_page_has_each_code_with_its_meaning_and_no_other() {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let on_page: Vec<(u8, &str)> =
        rows.map(|(code, rest)| (code.parse().unwrap(), rest.split(" | ").next().unwrap())).collect();
    assert_eq!(on_page, Exit::ALL.map(|exit| (exit.code(), exit.meaning())));
    let help = Operator::new().run(&["--help"]).succeeded();
    // It is wrapped to the width of the terminal.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for (code, meaning) in on_page {
        assert!(help.contains(&format!("{code} {meaning}")), "{code} {meaning}: {help}");
    }
}

#[test]
fn each_command_ends_as_the_page_says() {
    let operator = Operator::with_database();
    let ends = |arguments: &[&str], exit: Exit| {
        let ended = operator.run(arguments);
        assert_eq!(ended.code, Some(exit.code().into()), "{arguments:?} {ended:?}");
    };
    ends(&["doctor", "--strict"], Exit::Done);
    ends(&["dead", "purge", "--all"], Exit::Done);
    ends(&["show", "00000000-0000-0000-0000-000000000000"], Exit::NotDone);
    ends(&["healthcheck"], Exit::NotDone);
    ends(&["doctor", "--database", "sqlite://elsewhere.db"], Exit::NotDone);
    ends(&["status", "--database", "sqlite://elsewhere.db"], Exit::NotDone);
    ends(&["dead", "purge"], Exit::NotUnderstood);
    ends(&["status", "--set", "relay.batch=many"], Exit::NotUnderstood);
    ends(&["stats"], Exit::NotUnderstood);
    let refused = operator.run_with(&["notify", "-"], b"{}\n");
    assert_eq!(refused.code, Some(Exit::NotDone.code().into()), "{refused:?}");
    let taken = operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes());
    assert_eq!(taken.code, Some(Exit::Done.code().into()), "{taken:?}");
}
