use claimstream_sea_orm::{Dialect, statements};

use super::tree::{File, Tree};

/// Statements are files that a DBA can read; Rust has none.
pub(super) fn stands_in_sql_files(tree: &Tree) -> Vec<String> {
    tree.files("adapters/sea-orm/src/sql", ".sql", 40);
    let folders =
        ["domain/src", "ports/src", "app/outbox/src", "app/steps/src", "app/notifications/src", "adapters"];
    let files: Vec<File> = folders.iter().flat_map(|folder| tree.files(folder, ".rs", 5)).collect();
    let of_tests = ["/tests/", "/tests.rs", "/examples/"];
    let sources = files.iter().filter(|file| !of_tests.iter().any(|part| file.path.contains(part)));
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
pub(super) fn shows_the_claim_id(_: &Tree) -> Vec<String> {
    let unfenced = DIALECTS.into_iter().flat_map(|dialect| {
        let touching: Vec<Sent> = sent(dialect).into_iter().filter(touches_a_claim).collect();
        assert!(touching.len() >= 5, "only {} statements of {dialect:?} touch a claim", touching.len());
        touching.into_iter().filter(|statement| !is_fenced(statement))
    });
    unfenced.map(|sent| format!("{} touches a claim and does not ask for its claim_id", sent.name)).collect()
}

/// Under a shard lease the lease row is the receipt: a statement that writes it shows the fence, and what ends messages without a
/// claim id is sent by no other files than those that write the lease row first.
pub(super) fn shows_the_fence(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for dialect in DIALECTS {
        let mut leases = sent(dialect);
        leases.retain(|sent| sent.text.starts_with("UPDATE claimstream_lease"));
        assert!(leases.len() >= 2, "only {} statements of {dialect:?} write a lease", leases.len());
        let unfenced = leases.into_iter().filter(|sent| !sent.text.contains("AND fence = :fence"));
        complaints.extend(unfenced.map(|sent| format!("{} does not ask for the fence", sent.name)));
    }
    let sources = tree.files("adapters/sea-orm/src", ".rs", 20);
    let outside = sources.iter().filter(|file| !file.path.contains("/shard_lease/"));
    for file in outside.filter(|file| !file.path.ends_with("/statements.rs")) {
        let ends = file.code().filter(|(_, line)| ends_messages(line));
        complaints.extend(ends.map(|(n, _)| format!("{}:{n} ends messages", file.path)));
    }
    complaints
}

/// Whether a line has a statement that ends messages without a claim id, or all that go with a shard lease.
fn ends_messages(line: &str) -> bool {
    let sends = |name: &&str| line.contains(&name.replace('/', "."));
    UNDER_A_LEASE.iter().any(sends) || line.contains("ShardLeaseSql")
}

/// On a server, leases, locks and delays are counted by the server's clock, in UTC: no statement takes the time of a client,
/// which may be wrong, or that of a session's time zone.
pub(super) fn tells_the_time(_: &Tree) -> Vec<String> {
    let sent = sent(Dialect::MySql);
    let timed = sent.iter().filter(|sent| sent.text.contains("UTC_TIMESTAMP(6)")).count();
    assert!(timed >= 20, "only {timed} statements look at a clock");
    let wrong = sent.iter().filter_map(|sent| Some((sent, foreign_clock(sent)?)));
    wrong.map(|(sent, clock)| format!("{} asks {clock} for the time", sent.name)).collect()
}

const DIALECTS: [Dialect; 2] = [Dialect::MySql, Dialect::Sqlite];

/// A statement as a server gets it, with what its fragments stand for.
struct Sent {
    name: String,
    text: String,
}

fn sent(dialect: Dialect) -> Vec<Sent> {
    let named = |(name, text): (&str, &str)| Sent::new(&format!("{name} ({dialect:?})"), text);
    statements(dialect).into_iter().map(named).collect()
}

impl Sent {
    fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.split_whitespace().collect::<Vec<_>>().join(" ") }
    }
}

fn foreign_clock(sent: &Sent) -> Option<&'static str> {
    let clocks = [":now", " NOW(", "SYSDATE", "CURRENT_TIMESTAMP", "CURDATE", "LOCALTIME"];
    clocks.into_iter().find(|clock| sent.text.to_uppercase().contains(&clock.to_uppercase()))
}

const UNDER_A_LEASE: [&str; 6] = [
    "shard_lease/charge",
    "shard_lease/count",
    "shard_lease/done",
    "shard_lease/retry",
    "shard_lease/park",
    "shard_lease/dead",
];

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

/// Ends what no claim has alone: a second entry of a message whose older one is locked.
const OF_TWINS: &str = "twins/end";
/// Takes back what a take-over has counted, which its mark in the row proves; no claim is ended or extended.
const OF_A_TAKE_OVER: &str = "shard_lease/uncount";

fn touches_a_claim(sent: &Sent) -> bool {
    let known = |name: &&str| sent.name.split(' ').next() == Some(*name);
    if UNDER_A_LEASE.iter().chain([&OF_TWINS, &OF_A_TAKE_OVER]).any(known) {
        return false;
    }
    let writes = |verb: &str| sent.text.starts_with(verb);
    let moves = writes("INSERT") && sent.text.contains("FROM claimstream_queue");
    writes("UPDATE claimstream_queue") || writes("DELETE FROM claimstream_queue") || moves
}

/// A claim stamps its own id; everything else asks for one, or takes only what has none and is not due: that is in no consumer's
/// hands under any strategy. A resharding moves what has none, or one whose time is over, under the lease of the shard.
fn is_fenced(sent: &Sent) -> bool {
    let (action, conditions) = sent.text.split_once(" WHERE ").unwrap_or((&sent.text, ""));
    let asks = conditions.contains("claim_id = :claim");
    let is_free = conditions.contains("claim_id IS NULL") && conditions.contains("available_at > ");
    let is_over = conditions.contains("(claim_id IS NULL OR available_at <= ");
    asks || is_free || is_over || action.contains("claim_id = :claim")
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
    fn finds_what_ends_messages_under_a_lease() {
        assert!(ends_messages("    let sql = &store.sql.shard_lease.done;"));
        assert!(ends_messages("fn of(sql: &ShardLeaseSql)"));
        assert!(!ends_messages("    let sql = &store.sql.shard_lease.held;"));
    }

    #[test]
    fn finds_a_foreign_clock() {
        let clock = |text: &str| foreign_clock(&Sent::new("x", text));
        assert_eq!(clock("UPDATE t SET a = UTC_TIMESTAMP(6)"), None);
        assert_eq!(clock("SELECT id FROM t WHERE a <= :now"), Some(":now"));
        assert_eq!(clock("SELECT id FROM t WHERE a <= now(6)"), Some(" NOW("));
    }

    #[test]
    fn finds_a_statement_without_a_fence() {
        let fenced = |text: &str| {
            let sent = Sent::new("x", text);
            touches_a_claim(&sent).then(|| is_fenced(&sent))
        };
        assert_eq!(
            fenced("DELETE FROM claimstream_queue\n WHERE id = :id\n   AND claim_id = :claim"),
            Some(true)
        );
        assert_eq!(fenced("DELETE FROM claimstream_queue WHERE id = :id"), Some(false));
        assert_eq!(fenced("UPDATE claimstream_queue SET claim_id = NULL WHERE id = :id"), Some(false));
        assert_eq!(fenced("UPDATE claimstream_queue SET claim_id = :claim WHERE id = :id"), Some(true));
        assert_eq!(fenced("INSERT INTO d SELECT id FROM claimstream_queue WHERE id = 1"), Some(false));
        assert_eq!(
            fenced(
                "UPDATE claimstream_queue SET shard = 1 WHERE id = 1 AND (claim_id IS NULL OR available_at <= 2)"
            ),
            Some(true)
        );
        assert_eq!(fenced("INSERT INTO claimstream_queue (id) VALUES (1)"), None);
        assert_eq!(fenced("SELECT id FROM claimstream_queue"), None);
    }
}
