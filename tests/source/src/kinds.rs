use claimstream_ports::StoreErrorKind;

use super::tree::Tree;

const PAGE: &str = "docs/errors.md";

/// The page on errors says of each kind what the caller should do.
pub(super) fn have_rows(tree: &Tree) -> Vec<String> {
    without_row(&tree.file(PAGE).text)
}

fn without_row(page: &str) -> Vec<String> {
    let has_row = |kind: &StoreErrorKind| {
        let begin = format!("| `{kind}` | ");
        page.lines().any(|line| line.starts_with(&begin) && line.matches(" | ").count() == 2)
    };
    let missing = StoreErrorKind::ALL.iter().filter(|kind| !has_row(kind));
    missing.map(|kind| format!("{PAGE}: the kind {kind} has no row with what the caller should do")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complains_about_a_kind_without_advice() {
        let row = |kind: &StoreErrorKind| format!("| `{kind}` | what it means | what to do |\n");
        let page: String = StoreErrorKind::ALL.iter().map(row).collect();
        assert!(without_row(&page).is_empty());
        let gone = page.replace(&row(&StoreErrorKind::Transient), "| `transient` | what it means |\n");
        let complaints = without_row(&gone);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains(&StoreErrorKind::Transient.to_string()), "{complaints:?}");
    }
}
