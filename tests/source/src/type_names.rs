use std::collections::{BTreeMap, BTreeSet};

use super::tree::{File, Tree};

/// A name of a type means one thing: no product file defines a type that two others name alike.
pub(super) fn mean_one_thing(tree: &Tree) -> Vec<String> {
    let folders = ["domain/src", "ports/src", "app", "adapters"].map(|folder| tree.files(folder, ".rs", 20));
    let files = folders.into_iter().flatten().filter(|file| !is_of_tests(&file.path));
    complaints(&files.collect::<Vec<_>>(), &ALLOWED)
}

/// How many files may define a type of one name.
const MOST: usize = 2;

/// Names that more files define, how many, and why.
const ALLOWED: [(&str, usize, &str); 16] = [
    ("Readme", 16, "runs the code of a README as documentation tests, one of each crate"),
    // The rest is private to modules of the outbox, its stores and the wakeups, and gets names of its own.
    ("State", 12, "the data behind a lock"),
    ("Place", 5, "a position, a node or a broker"),
    ("Found", 4, "what a statement or a claim returned"),
    ("Asked", 3, "what was asked for"),
    ("Connection", 3, "of the binary log, of Redis and of a database"),
    ("Content", 3, "of a notification, its shape in OpenAPI, and of a settlement"),
    ("Ended", 3, "what ended"),
    ("Entry", 3, "of a map"),
    ("Known", 3, "what is remembered"),
    ("Row", 3, "of a table"),
    ("Stage", 3, "of a claim, of a pipeline and of a claimer"),
    ("Turn", 3, "whose turn it is"),
    ("Waiting", 3, "what waits"),
    ("Watched", 3, "what is watched"),
    ("Work", 3, "a closure in a transaction, and what a pipeline does"),
];

fn complaints(files: &[File], allowed: &[(&str, usize, &str)]) -> Vec<String> {
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        for name in definitions(&file.text) {
            places.entry(name).or_default().insert(&file.path);
        }
    }
    let most =
        |name: &str| allowed.iter().find(|(other, ..)| *other == name).map_or(MOST, |(_, most, _)| *most);
    let too_many = places.iter().filter(|(name, paths)| paths.len() > most(name)).map(|(name, paths)| {
        let paths: Vec<_> = paths.iter().copied().collect();
        format!("{name} is the name of {} types, name each by what it is: {}", paths.len(), paths.join(", "))
    });
    too_many.collect()
}

/// The types that a file defines outside of any block, until its tests begin.
fn definitions(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    lines.filter_map(|line| {
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let (kind, rest) = line.split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        ["struct", "enum", "trait", "type"].contains(&kind).then_some(name)
    })
}

fn is_of_tests(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || ["/tests/", "/examples/", "/benches/"].iter().any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complains_about_a_name_of_three_types_and_not_about_uses() {
        let file = |path: &str, text: &str| File::new(path, text);
        let two = [file("a.rs", "pub(crate) struct Place {"), file("b.rs", "enum Place {")];
        assert_eq!(complaints(&two, &[]), Vec::<String>::new());
        let uses =
            file("c.rs", "use b::Place;\n    struct Place;\n/// struct Place\nfn place(place: Place) {}");
        assert_eq!(complaints(&[&two[..], &[uses]].concat(), &[]), Vec::<String>::new());
        let three = [&two[..], &[file("d.rs", "pub(in crate::a) type Place<'a> = &'a str;")]].concat();
        let found = complaints(&three, &[]);
        assert!(found.len() == 1 && found[0].starts_with("Place is the name of 3 types"), "{found:?}");
        assert_eq!(complaints(&three, &[("Place", 3, "a reason")]), Vec::<String>::new());
        let tested = file("e.rs", "fn f() {}\n#[cfg(test)]\nstruct Place;");
        assert_eq!(complaints(&[&two[..], &[tested]].concat(), &[]), Vec::<String>::new());
    }
}
