use super::tree::Tree;

/// Every line of Rust that the README shows stands, in its order, in the file that is compiled.
pub(super) fn is_compiled(tree: &Tree) -> Vec<String> {
    let shown = lines_of_rust(&tree.file("README.md").text);
    let compiled = tree.file("tests/src/readme.rs").text;
    assert!(shown.len() >= 20, "the README shows only {} lines of Rust", shown.len());
    missing(&shown, &compiled)
}

/// The same for the page of timer events.
pub(super) fn timer_events_page_is_compiled(tree: &Tree) -> Vec<String> {
    let shown = lines_of_rust(&tree.file("docs/timer-events.md").text);
    assert!(shown.len() >= 10, "the page shows only {} lines of Rust", shown.len());
    missing(&shown, &tree.file("tests/src/docs_timer_events.rs").text)
}

/// The same for the page of locks.
pub(super) fn locks_page_is_compiled(tree: &Tree) -> Vec<String> {
    let shown = lines_of_rust(&tree.file("docs/locks.md").text);
    assert!(shown.len() >= 10, "the page shows only {} lines of Rust", shown.len());
    missing(&shown, &tree.file("tests/src/docs_locks.rs").text)
}

/// Every row of a table that the README shows under "How fast" stands in BENCHMARKS.md, which a program writes.
pub(super) fn figures_are_measured(tree: &Tree) -> Vec<String> {
    let rows = rows_of_figures(&tree.file("README.md").text);
    let measured = tree.file("BENCHMARKS.md").text;
    assert!(rows.len() >= 5, "the README shows only {} rows of figures", rows.len());
    let unknown = rows.iter().filter(|row| !measured.lines().any(|line| line == *row));
    unknown.map(|row| format!("README.md: not in BENCHMARKS.md: {row}")).collect()
}

fn rows_of_figures(text: &str) -> Vec<String> {
    let section = text.split("\n## ").find(|section| section.starts_with("How fast")).unwrap_or_default();
    section.lines().filter(|line| line.starts_with('|')).map(ToOwned::to_owned).collect()
}

fn lines_of_rust(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match (line.trim_end(), inside) {
            ("```rust", _) => inside = true,
            ("```", true) => inside = false,
            ("", _) => {}
            (code, true) => found.push(code.trim().to_owned()),
            _ => {}
        }
    }
    found
}

fn missing(shown: &[String], compiled: &str) -> Vec<String> {
    let mut rest = compiled.lines().map(str::trim);
    let mut complaints = Vec::new();
    for line in shown {
        if !rest.any(|known| known == line) {
            complaints.push(format!("README.md: not compiled, or out of order: {line}"));
            break;
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_rows_of_one_section() {
        let text = "# A\n\n## How fast\n\n| a | 1 |\ntext\n| b | 2 |\n\n## Limits\n\n| c | 3 |\n";
        assert_eq!(rows_of_figures(text), ["| a | 1 |", "| b | 2 |"]);
    }

    #[test]
    fn finds_a_line_that_is_not_compiled() {
        let shown = lines_of_rust("text\n```rust\nlet a = 1;\n\nlet b = 2;\n```\n```sh\nls\n```\n");
        assert_eq!(shown, ["let a = 1;", "let b = 2;"]);
        assert!(missing(&shown, "  let a = 1;\n  let b = 2;\n").is_empty());
        assert_eq!(missing(&shown, "  let a = 1;\n  let c = 2;\n").len(), 1);
        assert_eq!(missing(&shown, "  let b = 2;\n  let a = 1;\n").len(), 1);
    }
}
