//! The tables of docs/providers.md and docs/tcc.md are those of the code; `CLAIMSTREAM_GOLDEN=write` writes them.

use std::{env, fmt::Write, fs, iter, path::Path};

use claimstream_domain::notification::{Acceptance, AnswerClass, AnswerTable, Fault, Judgement};

const HEAD: &str = "| answer | meaning |\n|---|---|\n";
const HEAD_OF_MEANINGS: &str = "| meaning | whose fault | then |\n|---|---|---|\n";
const HEAD_OF_TCC: &str = "| answer | meaning | then |\n|---|---|---|\n";

/// What follows from an answer.
fn follows(judgement: Judgement) -> &'static str {
    let answer = judgement.answer();
    match (answer.class, answer.acceptance) {
        (AnswerClass::Delivered, _) => "the message is delivered",
        (AnswerClass::Permanent, _) if judgement.suppresses().is_some() => {
            "the message has failed, and the address is suppressed"
        }
        (AnswerClass::Permanent, _) => "the message has failed",
        (_, Acceptance::Unknown) => {
            "the same provider again, because it may have the message; the circuit counts it"
        }
        _ if judgement.speaks_against_provider() => "another provider, or later; the circuit counts it",
        _ => "another provider, or later",
    }
}

fn table(rows: &AnswerTable) -> String {
    let mut table = HEAD.to_owned();
    for row in rows.rows() {
        let condition = row.condition().to_string().replace('|', "\\|");
        writeln!(table, "| `{condition}` | {} |", row.judgement()).unwrap();
    }
    table
}

fn table_of_meanings() -> String {
    let mut table = HEAD_OF_MEANINGS.to_owned();
    for judgement in Judgement::ALL {
        let fault = judgement.fault().map_or("", Fault::name);
        writeln!(table, "| `{judgement}` | {fault} | {} |", follows(judgement)).unwrap();
    }
    table
}

/// What follows from the answer of a participant.
fn follows_of_tcc(judgement: Judgement) -> &'static str {
    match judgement.answer().class {
        AnswerClass::Delivered => "the call is done",
        AnswerClass::Permanent => "it has refused",
        _ => "it is called again",
    }
}

fn table_of_tcc(rows: &AnswerTable) -> String {
    let mut table = HEAD_OF_TCC.to_owned();
    for row in rows.rows() {
        let (condition, judgement) = (row.condition().to_string(), row.judgement());
        writeln!(table, "| `{condition}` | {judgement} | {} |", follows_of_tcc(judgement)).unwrap();
    }
    table
}

/// The page with a table in place of the one behind a line.
fn with_table(page: &str, line: &str, table: &str) -> String {
    let (before, rest) = page.split_once(line).unwrap_or_else(|| panic!("no line {line:?}"));
    let after = rest.trim_start().lines().skip_while(|line| line.starts_with('|'));
    let after: String = after.map(|line| format!("{line}\n")).collect();
    format!("{before}{line}\n\n{table}\n{}", after.trim_start_matches('\n'))
}

#[test]
fn the_pages_have_the_tables_of_the_code() {
    let tables = [
        ("Mail, by stage of the dialogue, code and enhanced status:", AnswerTable::smtp()),
        ("Gateways:", AnswerTable::gateway()),
        ("Recipients' own webhooks and chats:", AnswerTable::own_webhook()),
        ("A webhook or a chat with `url`:", AnswerTable::webhook()),
    ];
    let tables = tables.map(|(line, rows)| (line, table(rows)));
    let meanings = ("What each meaning leads to:", table_of_meanings());
    compare("providers.md", &iter::once(meanings).chain(tables).collect::<Vec<_>>());
    let answers = table_of_tcc(AnswerTable::participant());
    compare("tcc.md", &[("What it answers means:", answers)]);
}

fn compare(page: &str, tables: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = fs::read_to_string(&path).unwrap();
    let expected = tables.iter().fold(page.clone(), |page, (line, table)| with_table(&page, line, table));
    if env::var("CLAIMSTREAM_GOLDEN").as_deref() == Ok("write") {
        fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "CLAIMSTREAM_GOLDEN=write writes the tables");
    }
}
