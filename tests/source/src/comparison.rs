use super::tree::Tree;

const PAGE: &str = "docs/operations.md";

/// The page that compares us with others names, in each row, a file or a page that shows our cell, and each of these exists.
pub(super) fn is_shown(tree: &Tree) -> Vec<String> {
    let text = tree.file(PAGE).text;
    let rows: Vec<&str> = rows(&text).collect();
    assert!(rows.len() >= 15, "{PAGE} has only {} rows", rows.len());
    rows.iter().flat_map(|row| complaints(row, |path| tree.has(path))).collect()
}

/// The lines of tables without headings and rules.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    let is_heading = move |n: usize| lines.get(n + 1).is_some_and(|next| next.starts_with("|---"));
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with("| "));
    rows.filter(move |(n, _)| !is_heading(*n)).map(|(_, line)| line)
}

fn complaints(row: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let (first, shown) =
        (cells.first().copied().unwrap_or_default(), cells.last().copied().unwrap_or_default());
    let files = shown.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains('/')).map(str::to_owned);
    let pages = shown.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let named: Vec<String> = files.chain(pages.map(|page| format!("docs/{page}"))).collect();
    if named.is_empty() {
        return vec![format!("{PAGE}: the row {first:?} names nothing that shows it")];
    }
    let missing = named.iter().filter(|path| !exists(path));
    missing.map(|path| format!("{PAGE}: the row {first:?} names {path}, which is not there")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complains_about_a_row_that_nothing_shows_or_that_names_something_else() {
        let of = |row: &str| complaints(row, |path| ["docs/board.md", "tests/a.rs"].contains(&path)).len();
        assert_eq!(of("| pause | ● | – | ● | [Board](board.md#mount-it), `tests/a.rs` |"), 0);
        assert_eq!(of("| pause | ● | – | ● | trust us |"), 1);
        assert_eq!(of("| pause | ● | – | ● | `tests/b.rs`, [x](y.md) |"), 2);
        let page = "| | a |\n|---|---|\n| one | x |\n\ntext\n\n| before | now |\n|---|---|\n| two | y |\n";
        assert_eq!(rows(page).collect::<Vec<_>>(), ["| one | x |", "| two | y |"]);
    }
}
