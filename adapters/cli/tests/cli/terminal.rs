//! Promise: what dies between the count and the operator's answer is not changed; on a terminal long work
//! shows its progress, a change asks first, and the question names its database

use std::{
    fs::File,
    io::{Read, Write},
    process::Stdio,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{
    databases::with_databases,
    operator::{Operator, id, request},
};

/// What the program shows on a terminal, and what its user types there.
fn on_terminal(operator: &Operator, arguments: &[&str], typed: &str) -> String {
    on_terminal_once(operator, arguments, "", || (), typed)
}

/// The same, but the user does something else between the question and the answer.
fn on_terminal_once(
    operator: &Operator,
    arguments: &[&str],
    question: &str,
    before_the_answer: impl FnOnce(),
    typed: &str,
) -> String {
    let (mut user, program_side) = terminal();
    let mut program = operator.command(arguments);
    program.env("TERM", "xterm");
    let side = || Stdio::from(program_side.try_clone().expect("the terminal"));
    program.stdin(side()).stdout(side()).stderr(side());
    let mut running = program.spawn().expect("the program");
    // A terminal ends when the last program on it does.
    drop((program, program_side));
    let (mut shown, mut letter) = (Vec::new(), [0]);
    while !String::from_utf8_lossy(&shown).contains(question) {
        user.read_exact(&mut letter).expect("the question");
        shown.extend(letter);
    }
    before_the_answer();
    user.write_all(typed.as_bytes()).expect("a terminal");
    // At its end Linux answers an error.
    while user.read_exact(&mut letter).is_ok() {
        shown.extend(letter);
    }
    let ended = running.wait().expect("an end");
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(ended.success(), "{ended:?}: {shown}");
    shown
}

/// The user's side of a terminal and the program's.
fn terminal() -> (File, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&user).expect("its rights");
    unlockpt(&user).expect("its lock");
    let name = ptsname(&user, Vec::new()).expect("its name").into_string().expect("text");
    let program = File::options().read(true).write(true).open(name).expect("its other side");
    (user.into(), program)
}

#[test]
fn long_work_shows_how_far_it_is_on_a_terminal_and_nowhere_else() {
    let operator = Operator::with_database();
    let lines: String = (0..3_000).map(|number| request(number, "\"email\"") + "\n").collect();
    operator.write("requests.jsonl", &lines);
    let shown = on_terminal(&operator, &["notify", "requests.jsonl"], "");
    assert!(shown.contains("new 3000") && shown.contains("bytes"), "{shown:?}");
    let elsewhere = operator.run(&["notify", "requests.jsonl"]);
    assert_eq!(
        (elsewhere.err.as_str(), elsewhere.out.contains("replayed 3000")),
        ("", true),
        "{elsewhere:?}"
    );
    let measured = on_terminal(&operator, &["bench", "--seconds", "0.2"], "y\n");
    let asked = "load sqlite://claimstream.db for about 2 s? others who use it notice that [y/N]";
    assert!(
        measured.contains(asked) && measured.contains("measuring") && measured.contains("round trip"),
        "{measured:?}"
    );
    let declined = on_terminal(&operator, &["bench"], "n\n");
    assert!(declined.contains("nothing was measured"), "{declined:?}");
}

#[test]
fn a_purge_asks_on_a_terminal_and_takes_no_for_an_answer() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"sms\"").as_bytes()).succeeded();
    operator.run(&["relay", "--until-empty", "--set", "channels.email.provider=log"]).succeeded();
    assert!(operator.run(&["show", &id(1)]).succeeded().contains("FAILED"));
    let kept = on_terminal(&operator, &["dead", "purge", "--all"], "n\n");
    assert!(kept.contains("purge 1 dead letter? [y/N]") && kept.contains("nothing was changed"), "{kept:?}");
    let purged = on_terminal(&operator, &["dead", "purge", "--all"], "y\n");
    assert!(purged.contains("purged 1 dead letter"), "{purged:?}");
}

/// A dead letter of a request.
fn with_one_more_dead(operator: &Operator, number: u32, database: &[&str]) {
    let handed_in =
        operator.run_with(&[&["notify", "-"], database].concat(), request(number, "\"sms\"").as_bytes());
    handed_in.succeeded();
    let relay = [
        "relay",
        "--until-empty",
        "--set",
        "channels.email.provider=log",
        "--set",
        "channels.sms.provider=none",
    ];
    operator.run(&[&relay[..], database].concat()).succeeded();
}

/// Guard: an operator changes what was counted | src/command/dead_change.rs `make_all`: begins at the newest
#[test]
fn what_dies_before_the_answer_was_not_asked_about_and_stays() {
    let operator = Operator::with_database();
    with_one_more_dead(&operator, 1, &[]);
    let question = "purge 1 dead letter? [y/N]";
    let meanwhile = || with_one_more_dead(&operator, 2, &[]);
    let purge = ["dead", "purge", "--all"];
    let purged = on_terminal_once(&operator, &purge, question, meanwhile, "y\n");
    assert!(purged.contains("purged 1 dead letter\r\n"), "{purged:?}");
    assert!(operator.run(&["status", "--json"]).succeeded().contains("\"dead\":1"));
}

/// Guard: a question names its database | src/command/several.rs `in_turn`: no heading
#[test]
fn a_question_says_which_database_it_is_about_and_an_answer_is_shown_before_the_next_question() {
    let operator = with_databases(&["billing", "orders"]);
    for (number, name) in [(1, "billing"), (2, "orders")] {
        with_one_more_dead(&operator, number, &["--database", name]);
    }
    let purge = ["dead", "purge", "--all"];
    let shown = on_terminal(&operator, &purge, "y\nn\n");
    let order = [
        "database billing\r\n",
        "purge 1 dead letter? [y/N]",
        "purged 1 dead letter\r\n",
        "database orders\r\n",
        "purge 1 dead letter? [y/N]",
        "nothing was changed",
    ];
    let mut rest = shown.as_str();
    for next in order {
        rest = rest.split_once(next).unwrap_or_else(|| panic!("no {next:?} there: {shown:?}")).1;
    }
}
