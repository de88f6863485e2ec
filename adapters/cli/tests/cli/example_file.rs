use std::{collections::BTreeSet, path::Path};

use claimstream_cli::config::{Config, Sources};

/// The example at the root of the workspace.
fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claimstream.example.toml");
    std::fs::read_to_string(path).unwrap()
}

fn read(text: &str) -> Config {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("claimstream.toml");
    std::fs::write(&file, text).unwrap();
    let sources = Sources { file: Some(file), ..Sources::default() };
    Config::load(&sources).unwrap_or_else(|e| panic!("{e}")).config
}

/// The line of a key: its name, the number of its line, and whether it is marked as not set.
struct Line {
    key: String,
    number: usize,
    unset: bool,
}

fn lines(text: &str) -> Vec<Line> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        }
        let unset = line.starts_with('#') && !line.starts_with("# ");
        if let Some((name, _)) =
            line.trim_start_matches('#').split_once(" = ").filter(|_| unset || !line.starts_with('#'))
        {
            found.push(Line { key: format!("{section}{name}"), number, unset });
        }
    }
    found
}

#[test]
fn what_it_sets_are_the_defaults() {
    assert_eq!(read(&example()), Config::default());
}

#[test]
fn lists_every_key_that_there_is_and_no_other() {
    let listed: Vec<String> = lines(&example()).into_iter().map(|line| line.key).collect();
    let distinct: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(distinct.len(), listed.len(), "a key is listed twice");
    // The keys of a channel are listed once, with the defaults of all channels.
    let known: BTreeSet<String> = Config::keys()
        .into_iter()
        .map(|key| match key.strip_prefix("channels.").and_then(|rest| rest.split_once('.')) {
            Some((_, name)) => format!("channels.default.{name}"),
            None => key,
        })
        .collect();
    assert_eq!(known.iter().collect::<BTreeSet<_>>(), distinct);
}

#[test]
fn what_it_leaves_unset_can_be_set_to_its_example() {
    let example = example();
    for line in lines(&example).iter().filter(|line| line.unset) {
        let mut all: Vec<&str> = example.lines().collect();
        all[line.number] = all[line.number].trim_start_matches('#');
        let mut text = all.join("\n");
        if line.key.ends_with(".providers") {
            // The names in its example need sections.
            text += "\n[providers.ses]\ntype = \"log\"\n[providers.postmark]\ntype = \"log\"\n";
        }
        if line.key == "serve.database" {
            text += "\n[databases.orders]\nurl = \"sqlite://orders.db\"\n";
        }
        assert_ne!(read(&text), Config::default(), "{}", line.key);
    }
}

#[test]
fn explains_every_key() {
    let example = example();
    let all: Vec<&str> = example.lines().collect();
    for line in lines(&example) {
        assert!(all[line.number - 1].starts_with("# "), "{} has no explanation", line.key);
    }
}
