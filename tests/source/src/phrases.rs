use super::tree::{File, Tree};

/// Documents and the comments and texts of the library name the actor of a sentence, and none of the phrases that hide it.
pub(super) fn name_the_actor(tree: &Tree) -> Vec<String> {
    let sources = ["domain/src", "ports/src", "app", "adapters", "examples", "tests"]
        .map(|folder| tree.files(folder, ".rs", 3));
    let sources = sources.into_iter().flatten().filter(|file| file.path != OURS);
    let statements = tree.files("adapters/sea-orm/src/sql", ".sql", 50);
    let everywhere =
        documents(tree).chain(sources).chain(statements.clone()).flat_map(|file| complaints(&file, &REFUSED));
    let core = CORE.map(|folder| tree.files(folder, ".rs", 3)).into_iter().flatten();
    let core = core.chain(statements.into_iter().map(comments));
    let core = core.filter(|file| !NOT_YET.iter().any(|begin| file.path.starts_with(begin)));
    let tests = TESTS.map(|folder| tree.files(folder, ".rs", 1)).into_iter().flatten();
    let tests: Vec<_> = tests.filter(|file| file.path != OURS).collect();
    let core: Vec<_> = core.collect();
    let pages: Vec<_> = documents(tree).collect();
    let named_well =
        core.iter().filter(|file| !NAMES_NOT_YET.iter().any(|begin| file.path.starts_with(begin)));
    let names = named_well.chain(&tests).flat_map(named);
    let checked = core.iter().chain(&tests).chain(&pages).flat_map(|file| complaints(file, &REFUSED_WORDS));
    everywhere.chain(checked).chain(names).collect()
}

/// Every page, without the one that lists the phrases.
fn documents(tree: &Tree) -> impl Iterator<Item = File> {
    let folders = ["docs", "app", "adapters", "peers"].map(|folder| tree.files(folder, ".md", 1));
    let pages = folders.into_iter().flatten().chain(tree.files_at_the_root(".md", 4));
    pages.filter(|file| file.path != "CONTRIBUTING.md")
}

/// Where no word of [`REFUSED_WORDS`] is left, and in the comments of statements; the other folders follow.
const CORE: [&str; 19] = [
    "domain/src",
    "ports/src",
    "app/outbox/src",
    "app/steps/src",
    "app/notifications/src",
    "app/publishing/src",
    "adapters/sea-orm/src",
    "adapters/memory/src",
    "adapters/binlog/src",
    "adapters/redis/src",
    "adapters/tokio/src",
    "adapters/metrics/src",
    "adapters/opentelemetry/src",
    "adapters/board/src",
    "adapters/http/src",
    "adapters/cli/src",
    "adapters/channels/src",
    "adapters/brokers/src",
    "examples",
];

/// Tests where none is left either.
const TESTS: [&str; 8] = [
    "tests",
    "adapters/board/tests",
    "adapters/brokers/tests",
    "adapters/channels/tests",
    "adapters/cli/tests",
    "adapters/http/tests",
    "adapters/metrics/tests",
    "adapters/opentelemetry/tests",
];

/// The files and folders of [`CORE`] in which some are left.
const NOT_YET: [&str; 5] = [
    "adapters/sea-orm/src/doctor/rows.rs", // The name of a column.
    "adapters/sea-orm/src/notifications/",
    "adapters/sea-orm/src/sql/notifications/",
    "adapters/sea-orm/src/sql/receipts/",
    "adapters/memory/src/tables/notifications.rs",
];

/// The folders of [`CORE`] in which functions are still named by some.
const NAMES_NOT_YET: [&str; 4] = ["app/outbox", "app/publishing", "adapters/memory", "adapters/sea-orm"];

/// This file lists the phrases.
const OURS: &str = "tests/source/src/phrases.rs";

/// Phrases whose sentence reads better with a subject.
const REFUSED: [&str; 9] = [
    "whoever",
    "unless told otherwise",
    "is told",
    "are told",
    "is had",
    "has the word",
    "goes on with",
    "go on with",
    "gone on with",
];

/// Words that the field does not use, or that hide the actor.
const REFUSED_WORDS: [&str; 10] =
    ["nobody", "somebody", "anybody", "anew", "beside", "told", "heard", "in vain", "patience", "exactly if"];

fn complaints(file: &File, refused: &[&str]) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let lines = lines.take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let found = lines.filter_map(|(n, line)| {
        let prose = prose(line).to_lowercase();
        let phrase = refused.iter().find(|phrase| has_phrase(&prose, phrase))?;
        Some(format!("{}:{} says {phrase:?}, name the actor instead: {}", file.path, n + 1, line.trim()))
    });
    found.collect()
}

/// Functions whose names have one of [`REFUSED_WORDS`].
fn named(file: &File) -> Vec<String> {
    let names = file.text.lines().enumerate().filter_map(|(n, line)| {
        let (name, _) = line.split_once("fn ")?.1.split_once(['(', '<'])?;
        let words = name.replace('_', " ");
        let word = REFUSED_WORDS.iter().find(|word| has_phrase(&words, word))?;
        Some(format!("{}:{} is named {name:?}, which has {word:?}", file.path, n + 1))
    });
    names.collect()
}

/// The comments of a statement, line by line.
fn comments(file: File) -> File {
    let lines = file.text.lines().map(|line| if line.starts_with("--") { line } else { "" });
    File { text: lines.collect::<Vec<_>>().join("\n"), ..file }
}

/// A line without its code between backticks.
fn prose(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase)
        .any(|(at, _)| !text[..at].ends_with(inside) && !text[at + phrase.len()..].starts_with(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complains_about_a_phrase_that_hides_the_actor_and_not_about_names() {
        let of = |text: &str| complaints(&File::new("a.md", text), &REFUSED).len();
        assert_eq!(of("Whoever claims, waits."), 1);
        assert_eq!(of("/// 5 s unless told otherwise.\n\nThe reader is told so."), 2);
        assert_eq!(of("the test `whoever is told`, and whoever_asks(), is toldable"), 0);
        assert_eq!(of("fine\n#[cfg(test)]\n// whoever"), 0);
    }

    #[test]
    fn complains_about_the_name_of_a_function() {
        let of = |text: &str| named(&File::new("a.rs", text)).len();
        assert_eq!(of("    pub async fn it_is_told_once(a: u8) {\nfn waits_in_vain<T>() {}"), 2);
        assert_eq!(of("fn is_notified() {}\nlet f = told(1);"), 0);
    }
}
