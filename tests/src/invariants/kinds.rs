use claimstream_ports::StoreErrorKind;

use super::tree::Tree;

const PAGE: &str = "docs/errors.md";

/// The page on errors says of each kind what the caller should do.
pub(super) fn have_rows(tree: &Tree) -> Vec<String> {
    let page = &tree.file(PAGE).text;
    let has_row = |kind: &StoreErrorKind| {
        let begin = format!("| `{kind}` | ");
        page.lines().any(|line| line.starts_with(&begin) && line.matches(" | ").count() == 2)
    };
    let missing = StoreErrorKind::ALL.iter().filter(|kind| !has_row(kind));
    missing.map(|kind| format!("{PAGE}: the kind {kind} has no row with what the caller should do")).collect()
}
