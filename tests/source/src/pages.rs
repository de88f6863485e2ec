use std::env;

use super::tree::Tree;

/// A page of tables that is written from the source, one table for each package.
pub(super) struct Page {
    pub(super) path: &'static str,
    /// What stands above the tables.
    pub(super) head: &'static str,
    /// The names of the columns.
    pub(super) columns: &'static [&'static str],
}

/// A row about a file of a package.
pub(super) struct Row {
    pub(super) path: String,
    pub(super) cells: Vec<String>,
}

impl Page {
    /// Complains about a page that differs from its rows. With `CLAIMSTREAM_GOLDEN=write` it is written instead.
    pub(super) fn check(&self, tree: &Tree, rows: &[Row], end: &str) -> Option<String> {
        let text = format!("{}{}{end}", self.head, self.tables(tree, rows));
        if env::var("CLAIMSTREAM_GOLDEN").is_ok_and(|wish| wish == "write") {
            tree.write(self.path, &text);
        }
        let differs = tree.file(self.path).text != text;
        let path = self.path;
        differs.then(|| format!("{path} differs from the comments in the source; {HOW} writes it"))
    }

    fn tables(&self, tree: &Tree, rows: &[Row]) -> String {
        let packages: Vec<String> = rows.iter().map(|row| tree.package_of(&row.path)).collect();
        let mut text = String::new();
        for (n, row) in rows.iter().enumerate() {
            let package = &packages[n];
            if n == 0 || *package != packages[n - 1] {
                let columns =
                    format!("| {} |\n|{}", self.columns.join(" | "), "---|".repeat(self.columns.len()));
                text += &format!("\n## {package}\n\n{}.\n\n{columns}\n", tree.description_of(package));
            }
            text += &format!("| {} |\n", row.cells.join(" | "));
        }
        text
    }
}

const HOW: &str = "`CLAIMSTREAM_GOLDEN=write cargo test -p claimstream-source-rules`";

/// A file in backquotes, without the folder of its package.
pub(super) fn within(package: &str, path: &str) -> String {
    let short = path.strip_prefix(package).map_or(path, |path| path.trim_start_matches('/'));
    format!("`{short}`")
}
