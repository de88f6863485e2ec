use super::{
    marks::{self, Mark, PROMISE},
    pages::{Page, Row, within},
    tree::{File, Tree},
};

pub(super) const PAGE: Page = Page {
    path: "docs/inside/promises.md",
    head: "\
# Promises and the tests that hold them

What a port owes its callers is written on its trait in `ports/src/`. Its clauses are in `tests/contracts/src/conformance/`, run
on every store with every strategy, and their names are sentences, which this page does not repeat. [Guards](guards.md)
shows which test fails when a guard is left out, and [Models](models.md) tries every order of events.

This page is written from comments: `Promise:` and a sentence, above a test or in the head of a file or folder of tests.
`CLAIMSTREAM_GOLDEN=write cargo test -p claimstream-source-rules` writes it again.
",
    columns: &["promise", "test"],
};

/// The crates whose files hold promises, which the page lists first; the clauses of `conformance` hold what the traits of the ports say.
const CRATES: [&str; 5] = ["contracts", "nodes", "operation", "relays", "steps"];

/// The page lists every promise, and every file with tests has one: from a promise to its test, and back.
pub(super) fn are_listed(tree: &Tree) -> Vec<String> {
    let mut marks = marks::all(tree, PROMISE);
    marks.sort_by_key(|mark| !CRATES.iter().any(|name| mark.path.starts_with(&format!("tests/{name}/"))));
    assert!(marks.len() >= 200, "there are only {} promises", marks.len());
    let files = CRATES.iter().flat_map(|name| tree.files(&format!("tests/{name}/src"), ".rs", 7));
    let files = files.filter(|file| !file.path.starts_with(CLAUSES));
    let mut complaints: Vec<_> = files.filter_map(|file| without(&file, &marks)).collect();
    let rows: Vec<_> = marks.iter().map(|mark| row(mark, &tree.package_of(&mark.path))).collect();
    complaints.extend(PAGE.check(tree, &rows, ""));
    complaints
}

const CLAUSES: &str = "tests/contracts/src/conformance/";

fn row(Mark { path, test, text }: &Mark, package: &str) -> Row {
    let file = within(package, folder(path).unwrap_or(path));
    let place = test.iter().fold(file, |file, test| format!("{file}, `{test}`"));
    Row { path: path.clone(), cells: vec![text.clone(), place] }
}

/// The folder whose head this file is.
fn folder(path: &str) -> Option<&str> {
    ["mod.rs", "main.rs", "lib.rs"]
        .iter()
        .find_map(|head| path.strip_suffix(head))
        .filter(|path| path.ends_with('/'))
}

/// Complains about a file with tests if neither it nor a folder that it is in has a promise.
fn without(file: &File, marks: &[Mark]) -> Option<String> {
    let holds =
        |path: &str| path == file.path || folder(path).is_some_and(|folder| file.path.starts_with(folder));
    let is_promised = marks.iter().any(|mark| holds(&mark.path));
    (has_tests(file) && !is_promised).then(|| {
        format!("{}: its tests hold no promise; write one in its head, `//! {PROMISE}...`", file.path)
    })
}

/// A file at the head of a folder or a program lists the tests of the others.
fn has_tests(file: &File) -> bool {
    let adds = |line: &str| ["suite.add_", "cases![\"", "listed![\""].iter().any(|word| line.contains(word));
    folder(&file.path).is_none() && file.code().any(|(_, line)| adds(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(path: &str, test: Option<&str>) -> Mark {
        Mark { path: path.into(), test: test.map(str::to_owned), text: "it is kept".into() }
    }

    #[test]
    fn a_promise_is_of_a_test_a_file_or_a_folder() {
        let place = |path, test| row(&promise(path, test), "tests/relays").cells.remove(1);
        assert_eq!(place("tests/relays/src/a.rs", Some("it_holds")), "`src/a.rs`, `it_holds`");
        assert_eq!(place("tests/relays/src/a/mod.rs", None), "`src/a/`");
    }

    #[test]
    fn complains_about_tests_that_hold_no_promise() {
        let marks = [promise("tests/relays/src/one.rs", None), promise("tests/steps/src/tcc/mod.rs", None)];
        let complains = |path: &str, text: &str| without(&File::new(path, text), &marks).is_some();
        let adds = "suite.add_async_test(name, run);\n";
        assert!(!complains("tests/relays/src/one.rs", adds));
        assert!(!complains("tests/steps/src/tcc/any.rs", adds));
        assert!(!complains("tests/relays/src/two.rs", "fn noun() {}\n"));
        assert!(complains("tests/relays/src/two.rs", adds));
        assert!(complains(
            "tests/relays/src/two.rs",
            "const C: X = cases![\"claim\" needs [Claims]: one];\n"
        ));
    }
}
