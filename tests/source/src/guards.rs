use super::{
    marks::{self, GUARD, Mark, UNTESTED},
    pages::{Page, Row, within},
    tree::Tree,
};

pub(super) const PAGE: Page = Page {
    path: "docs/inside/guards.md",
    head: "\
# Guards, and what fails without them

Each guard was removed once, by itself, as in a mutation test: the named test failed, and the guard was put back. Other
tests may fail too. [Models](models.md) do the same for faults of the protocols.

This page is written from comments. Above a test, `Guard:` names what the code ensures, and after `|` the file and what
was changed there. `CLAIMSTREAM_GOLDEN=write cargo test -p claimstream-source-rules` writes it again.
",
    columns: &["guard", "changed", "test that fails"],
};

/// Every guard names its test and an existing file, and the page of guards lists them all.
pub(super) fn are_listed(tree: &Tree) -> Vec<String> {
    let marks = marks::all(tree, GUARD);
    assert!(marks.len() >= 300, "there are only {} guards", marks.len());
    let mut complaints = Vec::new();
    let mut rows = Vec::new();
    for mark in &marks {
        match changed(mark, &tree.package_of(&mark.path), |path| tree.has(path)) {
            Ok(Changed { guard, path, change }) => {
                let package = tree.package_of(&path);
                let change = format!("{}{change}", within(&package, &path));
                let test = format!(
                    "{}, `{}`",
                    within(&package, &mark.path),
                    mark.test.as_deref().unwrap_or_default()
                );
                rows.push(Row { path, cells: vec![guard.to_owned(), change, test] });
            }
            Err(why) => complaints.push(format!("{}: the guard {:?} {why}", mark.path, mark.text)),
        }
    }
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    complaints.extend(PAGE.check(tree, &rows, &untested(tree)));
    complaints
}

/// A guard, its file, and what was changed there.
#[derive(Debug, PartialEq)]
struct Changed<'a> {
    guard: &'a str,
    path: String,
    change: String,
}

fn changed<'a>(mark: &'a Mark, package: &str, exists: impl Fn(&str) -> bool) -> Result<Changed<'a>, String> {
    if mark.test.is_none() {
        return Err("stands above no test".to_owned());
    }
    let (guard, place) = mark.text.split_once(" | ").ok_or("does not say what was changed")?;
    let file = place.split([' ', ':']).next().unwrap_or_default();
    if !file.contains('/') || file.starts_with('`') {
        let between = if place.starts_with('`') { " " } else { ": " };
        return Ok(Changed { guard, path: mark.path.clone(), change: format!("{between}{place}") });
    }
    let known = [file.to_owned(), format!("{package}/{file}")].into_iter().find(|path| exists(path));
    let path = known.ok_or_else(|| format!("names {file}, which does not exist"))?;
    Ok(Changed { guard, path, change: place[file.len()..].to_owned() })
}

/// What no test fails without.
fn untested(tree: &Tree) -> String {
    let marks = marks::all(tree, UNTESTED);
    let lines = marks.iter().map(|Mark { path, text, .. }| format!("* `{path}`: {text}\n"));
    format!("\n## No test fails without these\n\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str, test: Option<&str>) -> String {
        changed(&mark(text, test), "a", |_| false).unwrap_err()
    }

    fn mark(text: &str, test: Option<&str>) -> Mark {
        Mark { path: "a/tests/b.rs".into(), test: test.map(str::to_owned), text: text.into() }
    }

    #[test]
    fn a_file_is_named_from_the_root_or_from_the_package_or_is_the_one_of_the_test() {
        let of = |text: &str| {
            let mark = mark(text, Some("it_holds"));
            let found = changed(&mark, "a", |path| ["a/src/c.rs", "d/e.sql"].contains(&path)).unwrap();
            assert_eq!(found.guard, "it is");
            (found.path, found.change)
        };
        assert_eq!(of("it is | d/e.sql: no `x`"), ("d/e.sql".into(), ": no `x`".into()));
        assert_eq!(of("it is | src/c.rs `f`: 0"), ("a/src/c.rs".into(), " `f`: 0".into()));
        assert_eq!(of("it is | `a/b` is 0"), ("a/tests/b.rs".into(), " `a/b` is 0".into()));
        assert_eq!(of("it is | no x"), ("a/tests/b.rs".into(), ": no x".into()));
    }

    #[test]
    fn complains_about_a_guard_without_a_test_or_a_change_and_of_a_file_that_is_gone() {
        assert_eq!(complaint("it is | no x", None), "stands above no test");
        assert_eq!(complaint("it is", Some("it_holds")), "does not say what was changed");
        assert_eq!(
            complaint("it is | src/c.rs: 0", Some("it_holds")),
            "names src/c.rs, which does not exist"
        );
    }
}
