use std::collections::HashSet;

use super::tree::{File, Tree};

const PAGE: &str = "docs/guards.md";

/// A test that the page of guards names exists: a row whose test is gone promises nothing.
pub(super) fn tests_exist(tree: &Tree) -> Vec<String> {
    let named = names(&tree.file(PAGE).text);
    assert!(named.len() >= 50, "only {} tests are named", named.len());
    let folders = ["adapters", "app", "domain/src", "tests"];
    let sources: Vec<_> = folders.iter().flat_map(|folder| tree.files(folder, ".rs", 10)).collect();
    missing(&named, &sources)
}

fn missing(named: &[String], sources: &[File]) -> Vec<String> {
    let there: HashSet<&str> = sources.iter().flat_map(|file| defined(&file.text)).collect();
    let missing = named.iter().filter(|name| !there.contains(name.as_str()));
    missing.map(|name| format!("{PAGE}: there is no test {name}")).collect()
}

/// The names of functions, and the last parts of paths in quotes, by which tests are added.
fn defined(text: &str) -> impl Iterator<Item = &str> {
    let functions = text.split("fn ").skip(1).filter_map(|after| {
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        after[end..].starts_with(['(', '<']).then_some(&after[..end])
    });
    functions.chain(text.split('"').filter_map(|quoted| quoted.rsplit("::").next()))
}

/// The last parts of all paths in backquotes, such as `steps::a_step_stays`, in tables.
fn names(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let paths = quoted.filter(|quoted| quoted.contains("::") && !quoted.contains(|c: char| c.is_uppercase()));
    paths.filter_map(|path| path.rsplit("::").next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ends_of_paths_in_tables() {
        let page = "`a::not_in_a_table`\n| a guard | `x.rs` | `steps::one`, `m::tests::two` |\n| `Kind::Busy` | `NX` | |";
        assert_eq!(names(page), ["one", "two"]);
    }

    #[test]
    fn complains_about_a_test_that_is_gone() {
        let sources =
            [File::new("tests/relays/src/a.rs", "async fn one<S: Store>(s: S) {}\nadd(\"sqlite::two\");\n")];
        assert!(missing(&["one".into(), "two".into()], &sources).is_empty());
        assert_eq!(missing(&["on".into()], &sources), ["docs/guards.md: there is no test on"]);
    }
}
