use std::{fmt, iter::once};

/// Rows under a heading, in columns that are as wide as they must be.
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[String; N]>,
}

/// A column: its heading, and on which side its cells stand.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    /// Text, to the left.
    Text(&'static str),
    /// A number, to the right.
    Number(&'static str),
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [Column; N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; control characters in it, which could move the cursor of a terminal, are shown as `�`.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| plain(&cell)));
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].as_str());
        cells.chain(once(self.columns[column].heading())).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Text(heading) | Self::Number(heading) => heading,
        }
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..N).map(|column| self.width(column)).collect();
        let heading = self.columns.map(|column| column.heading().to_owned());
        for row in once(&heading).chain(&self.rows) {
            let cells: Vec<String> = (0..N)
                .map(|n| match self.columns[n] {
                    Column::Text(_) => format!("{:<width$}", row[n], width = widths[n]),
                    Column::Number(_) => format!("{:>width$}", row[n], width = widths[n]),
                })
                .collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Text without anything that a terminal would act on.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_headings() {
        let mut table = Table::new([Column::Text("QUEUE"), Column::Number("N"), Column::Text("WHY")]);
        table.row(["äöü".into(), "10".into(), "\u{1b}[2Jx".into()]);
        table.row(["longer".into(), "5".into(), String::new()]);
        assert_eq!(table.to_string(), "QUEUE    N  WHY\näöü     10  \u{fffd}[2Jx\nlonger   5\n");
    }
}
