use std::collections::BTreeSet;

use super::{
    guards, promises,
    tree::{File, Tree},
};

/// A file or folder of the tests that a document names exists, and so does a test that it names by its sentence.
pub(super) fn exist(tree: &Tree) -> Vec<String> {
    let documents = documents(tree);
    let sources: Vec<_> = ["tests", "app", "adapters", "domain", "examples"]
        .iter()
        .flat_map(|folder| tree.files(folder, ".rs", 5))
        .collect();
    let references: usize = documents.iter().map(|document| quoted(&document.text, is_path).len()).sum();
    assert!(references >= 40, "the documents name only {references} files of tests");
    let known: BTreeSet<&str> = sources.iter().flat_map(tests).collect();
    documents.iter().flat_map(|document| missing(document, |path| tree.has(path), &known)).collect()
}

fn documents(tree: &Tree) -> Vec<File> {
    let mut documents: Vec<_> = ["README.md", "ARCHITECTURE.md", "DESIGN.md", "CONTRIBUTING.md"]
        .iter()
        .map(|path| tree.file(path))
        .collect();
    let written = [guards::PAGE.path, promises::PAGE.path]; // From the source, so they name what is there.
    documents.extend(tree.files("docs", ".md", 5).into_iter().filter(|page| !written.contains(&&*page.path)));
    documents
}

fn missing(document: &File, is_there: impl Fn(&str) -> bool, known: &BTreeSet<&str>) -> Vec<String> {
    let paths = quoted(&document.text, is_path);
    let paths = paths.into_iter().filter(|path| !is_there(path)).map(|path| format!("no file {path}"));
    let tests = quoted(&document.text, is_sentence);
    let is_known = |test: &str| known.contains(test) || known.iter().any(|name| is_cut(name, test));
    let tests = tests.into_iter().filter(|test| !is_known(test));
    let tests = tests.map(|test| format!("no test {test}"));
    paths.chain(tests).map(|what| format!("{}: there is {what}", document.path)).collect()
}

/// What stands in backquotes outside of blocks of code and fits.
fn quoted(text: &str, fits: fn(&str) -> bool) -> Vec<&str> {
    let prose = text.split("```").step_by(2).flat_map(str::lines);
    let quoted = prose.flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.map(|quoted| quoted.rsplit("::").next().unwrap_or(quoted)).filter(|it| fits(it)).collect()
}

fn is_path(quoted: &str) -> bool {
    let of_tests = quoted.starts_with("tests/") || quoted.starts_with("app/") && quoted.contains("/tests/");
    of_tests && !quoted.contains([' ', '*', '{'])
}

/// A name of at least five words, or one that is cut short.
fn is_sentence(quoted: &str) -> bool {
    let is_name = quoted.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c));
    is_name && quoted.contains('_') && (quoted.matches('_').count() >= 4 || quoted.contains("..."))
}

/// The names of functions and of tests in a file.
fn tests(file: &File) -> impl Iterator<Item = &str> {
    let functions = file.text.lines().filter_map(|line| line.split_once("fn ")?.1.split(['(', '<']).next());
    functions.chain(file.text.split('"').filter_map(|text| text.rsplit("::").next()))
}

/// Whether `cut` is this name with dots for some parts of it.
fn is_cut(name: &str, cut: &str) -> bool {
    let mut parts = cut.split("...");
    let begins = parts.next().and_then(|first| name.strip_prefix(first));
    let rest = parts.try_fold(begins, |rest, part| {
        let rest = rest?;
        rest.find(part).map(|at| Some(&rest[at + part.len()..]))
    });
    cut.contains("...") && matches!(rest, Some(Some(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_files_and_tests_that_are_gone() {
        let source = File::new("tests/relays/src/a.rs", "pub async fn a1_4_the_one_that_is_there(f: F) {}\n");
        let known = super::tests(&source).collect();
        let complain =
            |text: &str| missing(&File::new("A.md", text), |path| path == "tests/relays/src/a.rs", &known);
        assert!(
            complain("`tests/relays/src/a.rs`, `a1_4_...`, `scenarios::a1_4_the_one_that_is_there`")
                .is_empty()
        );
        assert!(complain("`a1_4_the_..._is_...`, `a_setting_name`, `SELECT a_b_c_d_e FROM x`").is_empty());
        assert_eq!(complain("see `tests/relays/src/b.rs`"), ["A.md: there is no file tests/relays/src/b.rs"]);
        assert_eq!(complain("`a1_4_the_one_that_is`"), ["A.md: there is no test a1_4_the_one_that_is"]);
        assert_eq!(complain("`a1_4_..._gone`").len(), 1);
        assert!(complain("```sh\n`tests/relays/src/b.rs`\n```\n").is_empty());
    }
}
