use super::tree::{File, Tree};

/// Nothing in the domain waits, reads a clock, draws a random number or touches the world.
pub(super) fn domain_is_pure(tree: &Tree) -> Vec<String> {
    forbidden(&tree.files("domain/src", ".rs", 20), &IMPURE)
}

/// A future of the library runs only while its caller polls it.
pub(super) fn nothing_is_spawned(tree: &Tree) -> Vec<String> {
    let folders = ["domain/src", "ports/src", "app/outbox/src", "app/steps/src", "app/notifications/src"];
    folders
        .iter()
        .flat_map(|folder| {
            forbidden(
                &tree.files(folder, ".rs", 10),
                &["tokio::spawn", "task::spawn", "spawn_blocking", "spawn_local", "thread::"],
            )
        })
        .collect()
}

/// Durations cross, instants stay: no port speaks of a moment, nor does what is claimed and settled.
pub(super) fn no_instant_crosses(tree: &Tree) -> Vec<String> {
    let types = ["claim.rs", "settlement.rs", "lease.rs"];
    let domain = tree.files("domain/src", ".rs", 20);
    let mut files: Vec<File> = domain
        .into_iter()
        .filter(|file| types.iter().any(|name| file.path == format!("domain/src/{name}")))
        .collect();
    assert_eq!(files.len(), types.len(), "the types that are claimed and settled have moved");
    files.extend(tree.files("ports/src", ".rs", 15));
    forbidden(&files, &["Timestamp", "SystemTime", "Instant"])
}

/// Unsafe code and undocumented items are refused everywhere, because everybody takes the workspace's lints.
pub(super) fn lints_are_taken(tree: &Tree) -> Vec<String> {
    let manifests = tree.manifests();
    let silent = manifests.iter().filter(|manifest| !inherits_lints(&manifest.text));
    silent.map(|manifest| format!("{} does not take the workspace's lints", manifest.path)).collect()
}

const IMPURE: [&str; 14] = [
    "async",
    "await",
    "Future",
    "Instant",
    "SystemTime::now",
    "rand",
    "random",
    "now_v7",
    "new_v4",
    "std::thread",
    "std::fs",
    "std::env",
    "std::net",
    "Mutex",
];

fn forbidden(files: &[File], words: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (number, line) in file.code() {
            for word in words.iter().filter(|word| has_word(line, word)) {
                complaints.push(format!("{}:{number} has {word:?}: {}", file.path, line.trim()));
            }
        }
    }
    complaints
}

/// Whether `word` stands in `line` with nothing that belongs to a word on either side.
fn has_word(line: &str, word: &str) -> bool {
    let belongs = |c: char| c.is_alphanumeric() || c == '_';
    let open_ended = !word.ends_with(belongs);
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(belongs);
        let after = line[at + word.len()..].chars().next().is_some_and(belongs);
        !before && (open_ended || !after)
    })
}

fn inherits_lints(manifest: &str) -> bool {
    let table: toml::Table = manifest.parse().expect("a manifest");
    let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
    lints.and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_words_and_not_parts_of_words() {
        let file = |line: &str| vec![File::new("x.rs", line)];
        for line in
            ["pub async fn f()", "let t = SystemTime::now();", "use rand::Rng;", "id: Uuid::now_v7(),"]
        {
            assert_eq!(forbidden(&file(line), &IMPURE).len(), 1, "{line}");
        }
        for line in ["let operand = 1;", "// async", "fn from(time: SystemTime)", "randomly", "InstantX"] {
            assert_eq!(forbidden(&file(line), &IMPURE), Vec::<String>::new(), "{line}");
        }
        assert_eq!(forbidden(&file("tokio::spawn(f)"), &["spawn"]).len(), 1);
        assert_eq!(forbidden(&file("std::thread::sleep(d)"), &["thread::"]).len(), 1);
    }

    #[test]
    fn a_manifest_without_the_lints_is_found() {
        assert!(inherits_lints("[lints]\nworkspace = true\n"));
        assert!(
            !inherits_lints("[package]\nname = \"x\"\n") && !inherits_lints("[lints]\nworkspace = false\n")
        );
    }
}
