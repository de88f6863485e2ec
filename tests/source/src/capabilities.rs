use super::tree::{File, Tree};

/// Nothing of the outbox names notifications: a user of the outbox alone reads, compiles and creates nothing of them.
pub(super) fn are_apart(tree: &Tree) -> Vec<String> {
    let outbox = tree.files("app/outbox/src", ".rs", 50);
    let store = tree.files(STORE, ".rs", 100).into_iter().chain(tree.files(STORE, ".sql", 100));
    let files = outbox.into_iter().chain(store.filter(|file| is_of_the_outbox(&file.path)));
    files.flat_map(|file| complaints(&file)).collect()
}

const STORE: &str = "adapters/sea-orm/src";

/// The folders of notifications, and the files that put capabilities together.
const OTHERS: [&str; 22] = [
    "notifications/",
    "outbox/notifications/",
    "sql/attempts/",
    "sql/digests/",
    "sql/directory/",
    "sql/erasures/",
    "sql/in_app/",
    "sql/notifications/",
    "sql/preferences/",
    "sql/rates/",
    "sql/receipts/",
    "sql/remains/",
    "sql/request_sweep/",
    "sql/tables/notifications_",
    "sql/templates/",
    "database/capability.rs",
    "database/statements.rs",
    "lib.rs",
    "outbox/mod.rs",
    "outbox/opening.rs",
    "outbox/options.rs",
    "outbox/state.rs",
];

/// Two more of these, which know the tables of every capability.
const TABLES: [&str; 2] = ["outbox/doctor.rs", "outbox/schema.rs"];

fn is_of_the_outbox(path: &str) -> bool {
    let Some(inside) = path.strip_prefix(STORE).map(|path| path.trim_start_matches('/')) else {
        return false;
    };
    !OTHERS.iter().any(|other| inside.starts_with(other)) && !TABLES.contains(&inside)
}

fn complaints(file: &File) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let named = lines.filter(|(_, line)| {
        // The name of a crate, such as `claimstream-notifications`, is that of a neighbour.
        let line = line.split('`').step_by(2).collect::<String>().to_lowercase();
        line.contains("notification") || line.contains("in_app")
    });
    named
        .map(|(n, line)| {
            format!("{}:{} names notifications in the outbox: {}", file.path, n + 1, line.trim())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_outbox_that_names_notifications_is_found() {
        assert_eq!(complaints(&File::new("a.rs", "fine\nuse domain::notification::Record;\n")).len(), 1);
        assert!(is_of_the_outbox("adapters/sea-orm/src/sweep/round.rs"));
        for other in ["notifications/people.rs", "outbox/state.rs", "sql/tables/notifications_1.mysql.sql"] {
            assert!(!is_of_the_outbox(&format!("{STORE}/{other}")), "{other}");
        }
    }
}
