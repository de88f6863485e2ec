use super::tree::{File, Tree};

/// Statements are files that a DBA can read; Rust has none.
pub(super) fn stands_in_sql_files(tree: &Tree) -> Vec<String> {
    tree.files("adapters/sea-orm/src/sql", ".sql", 40);
    let folders =
        ["domain/src", "ports/src", "app/outbox/src", "app/steps/src", "app/notifications/src", "adapters"];
    let files: Vec<File> = folders.iter().flat_map(|folder| tree.files(folder, ".rs", 5)).collect();
    let sources =
        files.iter().filter(|file| !file.path.contains("/tests/") && !file.path.contains("/examples/"));
    let mut complaints = Vec::new();
    for file in sources {
        let lines: Vec<_> = file.code().filter(|(_, line)| is_sql(line)).collect();
        match (is_script_writer(file), lines.is_empty()) {
            (false, false) => {
                complaints.extend(lines.iter().map(|(n, line)| format!("{}:{n} {}", file.path, line.trim())));
            }
            (true, true) => complaints.push(format!("{} needs no exception any more", file.path)),
            _ => {}
        }
    }
    complaints
}

/// Whatever ends or extends a claim shows the receipt: the claim id stands among its conditions.
pub(super) fn shows_the_claim_id(tree: &Tree) -> Vec<String> {
    let dialects = ["mysql", "sqlite"].map(|dialect| {
        let files = tree.files(&format!("adapters/sea-orm/src/sql/{dialect}"), ".sql", 20);
        let touching: Vec<File> = files.into_iter().filter(touches_a_claim).collect();
        assert!(touching.len() >= 5, "only {} statements of {dialect} touch a claim", touching.len());
        touching
    });
    let unfenced = dialects.iter().flatten().filter(|file| !is_fenced(file));
    unfenced.map(|file| format!("{} touches a claim and does not ask for its claim_id", file.path)).collect()
}

/// Under a shard lease the lease row is the receipt: whoever writes it shows the fence, and what ends messages without a
/// claim id is sent by nobody but the files that write the lease row first.
pub(super) fn shows_the_fence(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for dialect in ["mysql", "sqlite"] {
        let files = tree.files(&format!("adapters/sea-orm/src/sql/{dialect}"), ".sql", 20);
        let leases: Vec<_> =
            files.iter().filter(|file| statement(file).starts_with("UPDATE claimstream_lease")).collect();
        assert!(leases.len() >= 2, "only {} statements of {dialect} write a lease", leases.len());
        let unfenced = leases.into_iter().filter(|file| !statement(file).contains("AND fence = :fence"));
        complaints.extend(unfenced.map(|file| format!("{} does not ask for the fence", file.path)));
    }
    let sources = tree.files("adapters/sea-orm/src", ".rs", 20);
    let outside = sources.iter().filter(|file| !file.path.contains("/shard_lease/"));
    for file in outside {
        let ends = |(_, line): &(usize, &str)| {
            UNDER_A_LEASE.iter().any(|name| line.contains(&format!("sql.{name}")))
        };
        complaints.extend(file.code().filter(ends).map(|(n, _)| format!("{}:{n} ends messages", file.path)));
    }
    complaints
}

/// On a server, leases, locks and delays are counted by the server's clock, in UTC: no statement takes the time of a client,
/// which may be wrong, or that of a session's time zone.
pub(super) fn tells_the_time(tree: &Tree) -> Vec<String> {
    let files = tree.files("adapters/sea-orm/src/sql/mysql", ".sql", 40);
    let timed = files.iter().filter(|file| statement(file).contains("UTC_TIMESTAMP(6)")).count();
    assert!(timed >= 20, "only {timed} statements look at a clock");
    let wrong = files.iter().filter_map(|file| Some((file, foreign_clock(file)?)));
    wrong.map(|(file, clock)| format!("{} asks {clock} for the time", file.path)).collect()
}

fn foreign_clock(file: &File) -> Option<&'static str> {
    let clocks = [":now", " NOW(", "SYSDATE", "CURRENT_TIMESTAMP", "CURDATE", "LOCALTIME"];
    clocks.into_iter().find(|clock| statement(file).to_uppercase().contains(&clock.to_uppercase()))
}

const UNDER_A_LEASE: [&str; 6] =
    ["lease_charge", "lease_count", "lease_done", "lease_retry", "lease_park", "lease_dead"];

/// The one Rust file that writes SQL: the script it prints for people who own their schema ends with a statement that
/// carries the version.
fn is_script_writer(file: &File) -> bool {
    file.path == "adapters/sea-orm/src/outbox/schema.rs"
}

const BEGINNINGS: [(&str, &str); 10] = [
    ("SELECT ", "FROM"),
    ("SELECT ", "?"),
    ("INSERT INTO ", ""),
    ("INSERT IGNORE ", ""),
    ("REPLACE INTO ", ""),
    ("UPDATE ", " SET "),
    ("DELETE FROM ", ""),
    ("CREATE TABLE ", ""),
    ("FOR UPDATE", ""),
    ("ON DUPLICATE KEY", ""),
];

fn is_sql(line: &str) -> bool {
    let follows = |beginning: &str, rest: &str| {
        line.split_once(beginning).is_some_and(|(_, after)| after.contains(rest.trim_start()))
    };
    BEGINNINGS.iter().any(|(beginning, rest)| follows(beginning, rest))
}

fn statement(file: &File) -> String {
    let lines = file.text.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ends what no claim has alone: a second entry of a message whose older one is locked.
const OF_TWINS: &str = "twins_end";
/// Takes back what a take-over has counted, which its mark in the row proves; no claim is ended or extended.
const OF_A_TAKE_OVER: &str = "lease_uncount";

fn touches_a_claim(file: &File) -> bool {
    if UNDER_A_LEASE
        .iter()
        .chain([&OF_TWINS, &OF_A_TAKE_OVER])
        .any(|name| file.path.ends_with(&format!("/{name}.sql")))
    {
        return false;
    }
    let statement = statement(file);
    let writes = |verb: &str| statement.starts_with(verb);
    let moves = writes("INSERT") && statement.contains("FROM claimstream_queue");
    writes("UPDATE claimstream_queue") || writes("DELETE FROM claimstream_queue") || moves
}

/// A claim stamps its own id; everything else asks for one.
fn is_fenced(file: &File) -> bool {
    let statement = statement(file);
    let (action, conditions) = statement.split_once(" WHERE ").unwrap_or((&statement, ""));
    let asks = conditions.contains("claim_id = :claim");
    asks || action.contains("claim_id = :claim")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_sql_in_rust() {
        for line in [
            "    let sql = \"SELECT id FROM t\";",
            "db.execute(\"DELETE FROM t WHERE id = ?\")",
            "\"UPDATE t SET a = 1\"",
            "        INSERT INTO t VALUES (1)",
        ] {
            assert!(is_sql(line), "{line}");
        }
        for line in ["fn update(&self)", "let name = \"SELECTED\";", "Update::Set"] {
            assert!(!is_sql(line), "{line}");
        }
    }

    #[test]
    fn finds_a_foreign_clock() {
        let clock = |text: &str| foreign_clock(&File::new("x.sql", text));
        assert_eq!(clock("-- not :now\nUPDATE t SET a = UTC_TIMESTAMP(6)"), None);
        assert_eq!(clock("SELECT id FROM t WHERE a <= :now"), Some(":now"));
        assert_eq!(clock("SELECT id FROM t WHERE a <= now(6)"), Some(" NOW("));
    }

    #[test]
    fn finds_a_statement_without_a_fence() {
        let fenced = |text: &str| {
            let file = File::new("x.sql", text);
            touches_a_claim(&file).then(|| is_fenced(&file))
        };
        assert_eq!(
            fenced("-- why\nDELETE FROM claimstream_queue\n WHERE id = :id\n   AND claim_id = :claim"),
            Some(true)
        );
        assert_eq!(fenced("DELETE FROM claimstream_queue WHERE id = :id -- claim_id"), Some(false));
        assert_eq!(fenced("UPDATE claimstream_queue SET claim_id = NULL WHERE id = :id"), Some(false));
        assert_eq!(fenced("UPDATE claimstream_queue SET claim_id = :claim WHERE id = :id"), Some(true));
        assert_eq!(fenced("INSERT INTO d SELECT id FROM claimstream_queue WHERE id = 1"), Some(false));
        assert_eq!(fenced("INSERT INTO claimstream_queue (id) VALUES (1)"), None);
        assert_eq!(fenced("SELECT id FROM claimstream_queue"), None);
    }
}
