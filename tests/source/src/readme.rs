use super::tree::{File, Tree};

/// Every line of Rust that the README shows stands, in its order, in the file that is compiled.
pub(super) fn is_compiled(tree: &Tree) -> Vec<String> {
    let shown = lines_of_rust(&tree.file("README.md").text);
    let compiled = tree.file("tests/pages/src/readme.rs").text;
    assert!(shown.len() >= 20, "the README shows only {} lines of Rust", shown.len());
    missing("README.md", &shown, &compiled)
}

/// The same for the pages under docs/: each that shows Rust has a file of its own under tests/pages/src/, or names the
/// example that it shows.
pub(super) fn pages_are_compiled(tree: &Tree) -> Vec<String> {
    let mut pages = tree.files("docs", ".md", 5);
    pages.retain(|page| !lines_of_rust(&page.text).is_empty());
    assert!(pages.len() >= 5, "only {} pages show Rust", pages.len());
    let (mut files, list) = (tree.files(PAGES, ".rs", 5), tree.file(&format!("{PAGES}/main.rs")));
    files.extend(tree.files(EXAMPLES, ".rs", 5));
    pages.iter().flat_map(|page| not_compiled(page, &files, &list.text)).collect()
}

const PAGES: &str = "tests/pages/src";
const EXAMPLES: &str = "examples";

fn not_compiled(page: &File, files: &[File], list: &str) -> Vec<String> {
    if let Some(example) = example_of(&page.text) {
        let file = files.iter().find(|file| file.path == example && example.starts_with(EXAMPLES));
        let Some(file) = file else { return vec![format!("{}: there is no example {example}", page.path)] };
        return missing(&page.path, &lines_of_rust(&page.text), &file.text);
    }
    let name = page.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md").replace('-', "_");
    let wanted = format!("{PAGES}/{name}.rs");
    let Some(file) = files.iter().find(|file| file.path == wanted) else {
        return vec![format!("{}: it shows Rust, and there is no {wanted}", page.path)];
    };
    let listed = list.lines().any(|line| line == format!("mod {name};"));
    let unlisted = (!listed).then(|| format!("{wanted}: {PAGES}/main.rs does not list it"));
    unlisted.into_iter().chain(missing(&page.path, &lines_of_rust(&page.text), &file.text)).collect()
}

/// The example that a page says it shows.
fn example_of(page: &str) -> Option<&str> {
    page.lines().find_map(|line| line.strip_prefix("<!-- compiled in ")?.strip_suffix(" -->"))
}

/// Every row of a table that the README shows under "How fast" stands in BENCHMARKS.md, which a program writes.
pub(super) fn figures_are_measured(tree: &Tree) -> Vec<String> {
    let rows = rows_of_figures(&tree.file("README.md").text);
    let measured = tree.file("BENCHMARKS.md").text;
    assert!(rows.len() >= 5, "the README shows only {} rows of figures", rows.len());
    not_measured(&rows, &measured)
}

fn not_measured(rows: &[String], measured: &str) -> Vec<String> {
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
        match (line.trim(), inside) {
            (fence, false) if fence.starts_with("```rust") => inside = true,
            ("```", true) => inside = false,
            ("", _) => {}
            (code, true) => found.push(code.to_owned()),
            _ => {}
        }
    }
    found
}

fn missing(document: &str, shown: &[String], compiled: &str) -> Vec<String> {
    let mut rest = compiled.lines().map(str::trim);
    let mut complaints = Vec::new();
    for line in shown {
        if !rest.any(|known| known == line) {
            complaints.push(format!("{document}: not compiled, or out of order: {line}"));
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
    fn finds_a_figure_that_nothing_measured() {
        let rows = ["| a | 1 |".to_owned(), "| b | 2 |".to_owned()];
        assert_eq!(
            not_measured(&rows, "| a | 1 |\n| b | 3 |\n"),
            ["README.md: not in BENCHMARKS.md: | b | 2 |"]
        );
    }

    #[test]
    fn finds_a_line_that_is_not_compiled() {
        let shown = lines_of_rust("text\n```rust\nlet a = 1;\n\nlet b = 2;\n```\n```sh\nls\n```\n");
        assert_eq!(shown, ["let a = 1;", "let b = 2;"]);
        let missing = |compiled| missing("docs/a.md", &shown, compiled);
        assert!(missing("  let a = 1;\n  let b = 2;\n").is_empty());
        let complaints = missing("  let a = 1;\n  let c = 2;\n");
        assert_eq!(complaints, ["docs/a.md: not compiled, or out of order: let b = 2;"]);
        assert_eq!(missing("  let b = 2;\n  let a = 1;\n").len(), 1);
    }

    #[test]
    fn finds_a_page_that_nothing_compiles() {
        let page = File::new("docs/two-words.md", "  ```rust,ignore\n  let a = 1;\n  ```\n");
        let file = File::new("tests/pages/src/two_words.rs", "let a = 1;\n");
        assert!(not_compiled(&page, std::slice::from_ref(&file), "mod two_words;\n").is_empty());
        assert_eq!(not_compiled(&page, &[], "mod two_words;\n").len(), 1);
        assert_eq!(not_compiled(&page, &[file], "mod words;\n").len(), 1);
    }

    #[test]
    fn finds_a_page_that_shows_no_example() {
        let text = "<!-- compiled in examples/a.rs -->\n```rust\nlet a = 1;\n```\n";
        let page = File::new("docs/cookbook/a.md", text);
        let example = |text| [File::new("examples/a.rs", text)];
        assert!(not_compiled(&page, &example("let a = 1;\n"), "").is_empty());
        assert_eq!(not_compiled(&page, &example("let b = 1;\n"), "").len(), 1);
        assert_eq!(not_compiled(&page, &[], "").len(), 1);
    }
}
