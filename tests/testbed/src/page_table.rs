use std::{
    fs,
    io::{Error, ErrorKind, Result},
    path::Path,
};

/// Puts a table in place of the one with the same head that a page has; `NotFound` if it has none.
pub fn replace_table(page: &Path, head: &str, table: &str) -> Result<()> {
    let text = fs::read_to_string(page)?;
    let replaced = replaced(&text, head, table)
        .ok_or_else(|| Error::new(ErrorKind::NotFound, "the page has no such table"))?;
    fs::write(page, replaced)
}

/// A table ends with the first empty line.
fn replaced(text: &str, head: &str, table: &str) -> Option<String> {
    let start = text.find(head)?;
    let end = text[start..].find("\n\n").map_or(text.len(), |length| start + length + 1);
    Some([&text[..start], table, &text[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_table_stays() {
        let head = "| n |\n|---|\n";
        let (old, new) = (format!("{head}| 1 |\n| 2 |\n"), format!("{head}| 3 |\n"));
        for (before, after) in [("", ""), ("# A page\n\n", "\nA last line.\n")] {
            let page = [before, &old, after].concat();
            assert_eq!(replaced(&page, head, &new), Some([before, &new, after].concat()));
        }
        assert_eq!(replaced("# A page\n", head, &new), None);
    }
}
