//! The tables of docs/providers.md are those of the code; `CLAIMSTREAM_GOLDEN=write` writes them.

use std::{env, fmt::Write, fs, path::Path};

use claimstream_domain::notification::{Acceptance, AnswerClass, AnswerTable, Fault, Judgement};

const HEAD: &str = "| answer | meaning | whose fault | then |\n|---|---|---|---|\n";

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
        let (condition, judgement) = (row.condition().to_string().replace('|', "\\|"), row.judgement());
        let fault = judgement.fault().map_or("", Fault::name);
        writeln!(table, "| `{condition}` | {judgement} | {fault} | {} |", follows(judgement)).unwrap();
    }
    table
}

/// The page with a table in place of the one behind a line.
fn with_table(page: &str, line: &str, rows: &AnswerTable) -> String {
    let (before, rest) = page.split_once(line).unwrap_or_else(|| panic!("no line {line:?}"));
    let after = rest.trim_start().lines().skip_while(|line| line.starts_with('|'));
    let after: String = after.map(|line| format!("{line}\n")).collect();
    format!("{before}{line}\n\n{}\n{}", table(rows), after.trim_start_matches('\n'))
}

#[test]
fn the_page_has_the_tables_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let page = fs::read_to_string(&path).unwrap();
    let tables = [
        ("Mail, by stage of the dialogue, code and enhanced status:", AnswerTable::smtp()),
        ("Gateways:", AnswerTable::gateway()),
        ("Recipients' own webhooks and chats:", AnswerTable::own_webhook()),
        ("A webhook or a chat with `url`:", AnswerTable::webhook()),
    ];
    let expected = tables.iter().fold(page.clone(), |page, (line, rows)| with_table(&page, line, rows));
    if env::var("CLAIMSTREAM_GOLDEN").as_deref() == Ok("write") {
        fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "CLAIMSTREAM_GOLDEN=write writes the tables");
    }
}
