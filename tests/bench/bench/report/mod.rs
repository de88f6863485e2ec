//! BENCHMARKS.md, its plots and the tables behind it, made of the lines that measurements wrote and of nothing else.

mod book;
mod flow;
mod lines;
mod page;
mod plots;
mod scenarios;
mod tables;
mod targets;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::book::Book;
use crate::Failure;

/// Writes the page, the tables next to the plots, and the plots that both show.
pub(crate) fn write(json: &[PathBuf], out: &Path, plots: &Path) -> Result<(), Failure> {
    let mut records = Vec::new();
    for file in json {
        records.extend(lines::read(file)?);
    }
    if records.is_empty() {
        return Err("there is nothing to report".into());
    }
    let book = Book::new(records);
    fs::create_dir_all(plots)?;
    let drawn = plots::draw(&book, plots)?;
    let (folder, tables) = (relative(plots, out), plots.join(TABLES));
    fs::write(&tables, tables::text(&book, &drawn))?;
    Ok(fs::write(out, page::text(&book, &drawn, &folder, &format!("{folder}/{TABLES}")))?)
}

/// The file of all tables.
const TABLES: &str = "TABLES.md";

/// The plots' directory as seen from the text.
fn relative(plots: &Path, out: &Path) -> String {
    let folder = out.parent().unwrap_or(Path::new(""));
    plots.strip_prefix(folder).unwrap_or(plots).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Round};

    fn record(contender: &str, rate: f64) -> Record {
        let mut round = Round::default();
        round.set("rate", rate);
        let mut record = Record {
            run: "one".into(),
            scenario: "drain".into(),
            contender: contender.into(),
            instances: 1,
            rounds: vec![round],
            ..Record::default()
        };
        record.server.name = "mariadb-10.11".into();
        let sizes = [("backlog", 100_000), ("batch", 100), ("payload", 500)];
        record.parameters = sizes.map(|(name, size)| (name.into(), size.into())).into();
        record
    }

    #[test]
    fn lines_become_a_text_with_targets_and_plots() {
        let folder = std::env::temp_dir().join(format!("bench-report-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (lines, out) = (folder.join("lines.json"), folder.join("BENCHMARKS.md"));
        let mut failed = record("s0", 1.0);
        failed.rounds.clear();
        failed.failures.push("no SKIP LOCKED here".into());
        for record in [record("ceilxr", 50_000.0), record("shard_lease", 100_000.0), failed] {
            record.append_to(&lines).unwrap();
        }
        write(&[lines], &out, &folder.join("benchmarks")).unwrap();
        let text = fs::read_to_string(&out).unwrap();
        assert!(
            text.contains(
                "| `shard_lease` against `ceilxr`, 1 instance | 2.00, at least 2.10: **not met** |"
            ),
            "{text}"
        );
        assert!(text.contains("not measured"), "{text}");
        assert!(text.contains("[all tables](benchmarks/TABLES.md)"), "{text}");
        let tables = fs::read_to_string(folder.join("benchmarks/TABLES.md")).unwrap();
        assert!(tables.contains("no SKIP LOCKED here"), "a cell that failed is reported: {tables}");
        assert!(text.contains("(benchmarks/rate-instances-mariadb-10.11.svg)"), "{text}");
        assert!(folder.join("benchmarks/rate-instances-mariadb-10.11.svg").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
