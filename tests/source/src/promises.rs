use super::tree::{File, Tree};

const PAGE: &str = "docs/promises.md";

/// The crates whose files hold promises; the clauses of `conformance` hold what the traits of the ports say.
const CRATES: [&str; 5] = ["contracts", "nodes", "operation", "relays", "steps"];

/// Every row of the page names a test, and every file that has trials stands in a row: from a promise to its test, and back.
pub(super) fn have_tests(tree: &Tree) -> Vec<String> {
    let page = tree.file(PAGE).text;
    let rows: Vec<_> = rows(&page).collect();
    assert!(rows.len() >= 60, "{PAGE} has only {} rows", rows.len());
    let files = CRATES.iter().flat_map(|name| tree.files(&format!("tests/{name}/src"), ".rs", 7));
    let files: Vec<_> = files.filter(|file| !file.path.starts_with(CLAUSES)).collect();
    let without = without_test(&rows);
    without.chain(files.iter().filter_map(|file| nowhere(file, &rows))).collect()
}

const CLAUSES: &str = "tests/contracts/src/conformance/";

/// The cells of a promise and of its tests.
fn rows(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.filter(|(_, test)| *test != "test")
}

fn without_test<'a>(rows: &'a [(&str, &str)]) -> impl Iterator<Item = String> + 'a {
    let names_a_test = |tests: &str| {
        tests.split('`').skip(1).step_by(2).any(|name| name.contains('/') || name == "Cargo.toml")
    };
    let without = rows.iter().filter(move |(_, tests)| !names_a_test(tests));
    without.map(|(promise, _)| format!("{PAGE}: the row {promise:?} names no file of a test"))
}

/// Complains about a file with trials if no row names it or a folder that it is in.
fn nowhere(file: &File, rows: &[(&str, &str)]) -> Option<String> {
    let is_named = |tests: &str| tests.split('`').skip(1).step_by(2).any(|named| names(named, &file.path));
    let stands = rows.iter().any(|(_, tests)| is_named(tests));
    (has_trials(file) && !stands)
        .then(|| format!("{PAGE}: no row names {}; add the promise that its trials hold", file.path))
}

/// Whether `named` is this file, its folder, or the file at the head of its folder.
fn names(named: &str, path: &str) -> bool {
    let folder = named.strip_suffix("mod.rs").unwrap_or(named);
    named == path || folder.ends_with('/') && path.starts_with(folder)
}

/// A file at the head of a folder or a program lists the trials of the others.
fn has_trials(file: &File) -> bool {
    let adds = |line: &str| ["suite.add_", "cases![\"", "listed!["].iter().any(|word| line.contains(word));
    let is_head = ["/mod.rs", "/main.rs"].iter().any(|head| file.path.ends_with(head));
    !is_head && file.code().any(|(_, line)| adds(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [(&str, &str); 2] = [
        ("it is kept", "`tests/relays/src/claims/one.rs`, `a_test`"),
        ("all of it", "`tests/steps/src/tcc/`"),
    ];

    #[test]
    fn complains_about_a_promise_without_a_test() {
        assert_eq!(without_test(&ROWS).count(), 0);
        let rows: Vec<_> = rows("| promise | test |\n|---|---|\n| it is fast | we believe |\n").collect();
        let told: Vec<_> = without_test(&rows).collect();
        assert_eq!(told, ["docs/promises.md: the row \"it is fast\" names no file of a test"]);
    }

    #[test]
    fn complains_about_trials_that_hold_no_promise() {
        let complains = |path: &str, text: &str| nowhere(&File::new(path, text), &ROWS).is_some();
        let adds = "suite.add_trial(name, run);\n";
        assert!(!complains("tests/relays/src/claims/one.rs", adds));
        assert!(!complains("tests/steps/src/tcc/any.rs", adds));
        assert!(!complains("tests/relays/src/claims/two.rs", "fn noun() {}\n"));
        assert!(complains("tests/relays/src/claims/two.rs", adds));
        assert!(complains(
            "tests/relays/src/claims/two.rs",
            "const C: X = cases![\"claim\" needs [Claims]: one];\n"
        ));
    }
}
