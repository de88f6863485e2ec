use claimstream_ports::StoreErrorKind;

/// MySQL and MariaDB: the numbers of their error reference, then the class of the SQLSTATE. Most that passes by itself, and
/// most of what proxies say, comes as HY000, which says nothing.
pub(crate) fn kind(number: u16, state: &str, text: &str) -> StoreErrorKind {
    match (number, state.get(..2).unwrap_or_default()) {
        // Deadlock; record changed since the snapshot; lock wait; NOWAIT; query killed; statement timeouts; GET_LOCK
        // deadlock; metadata lock deadlock; a statement or a table that has just changed; no room for locks or transactions;
        // rolled back by Group Replication's certification, or as a branch of XA: too slow, a deadlock.
        (
            1213 | 1020 | 1205 | 3572 | 1317 | 1969 | 3024 | 3058 | 1479 | 1615 | 1412 | 1206 | 1637 | 3101
            | 1613 | 1614,
            _,
        ) => StoreErrorKind::Transient,
        // The same certification, said by the storage engine: deadlock. Any other error during a commit may be anything.
        (1180, _) if first_number(text) == Some(149) => StoreErrorKind::Transient,
        // InnoDB lacks a savepoint that the server has: another member of a group has undone the transaction.
        (1030 | 1181, _) if lacks_savepoint(number, text) => StoreErrorKind::Transient,
        // A node of a Galera cluster that meets a trigger of a resharding while another node makes it takes its body for wrong. The triggers
        // are right: they were taken when they were made.
        (1064 | 1710, _) if text.contains("Trigger 'claimstream_") && text.contains("error in its body") => {
            StoreErrorKind::Transient
        }
        // Duplicate key, and duplicate key name from a schema that is being made twice.
        (1062 | 1586, _) => StoreErrorKind::Conflict,
        // Limits of connections and of statements in their states of syntax errors; packets that are cut; a table that is
        // read only.
        (1203 | 1226 | 1461 | 1158..=1161 | 1036, _) => StoreErrorKind::Unavailable,
        // Unknown variable; statement binlog; a table that Group Replication does not take; collations.
        (1193 | 1665 | 3098 | 1267, _) => StoreErrorKind::Unsupported,
        // Too large a packet, result, row, or number of parameters; wrong characters; truncated; no default; a CHECK.
        (1153 | 1301 | 1118 | 1390 | 1300 | 1366 | 3988 | 1265 | 1364 | 3819, _) => StoreErrorKind::Corrupt,
        // Values out of range, too long, or wrong; NULL where there must be a value; foreign keys.
        (_, "22" | "23") => StoreErrorKind::Corrupt,
        // A trigger of an online change of a table writes to its copy, which is going away.
        (NO_TABLE, _) if text.contains("._claimstream_") || text.contains(".__claimstream_") => {
            StoreErrorKind::Transient
        }
        // Tables that were not made, or are away; rights; a host that is not let in; TLS; credentials, expired ones too; no database.
        (NO_TABLE | 1044 | 1049 | 1142 | 1143 | 1227 | 1370 | 1698 | 1130 | 1820 | 1862 | 3159, _)
        | (_, "28" | "3D") => StoreErrorKind::Misconfigured,
        // Syntax and unknown names; features; READ ONLY transaction.
        (_, "42" | "0A" | "25" | "21") => StoreErrorKind::Unsupported,
        (_, "40") => StoreErrorKind::Transient,
        // Also 1644, a trigger's SIGNAL: only its author knows what it means, and whether it passes. Transient would
        // have it repeated at once.
        _ => StoreErrorKind::Unavailable,
    }
}

/// Whether an error of this number says that other connections are broken too.
pub(crate) fn is_outage(number: u16) -> bool {
    // Read-only server; shutdown; connection killed; offline mode; node not ready; closed for being idle; cut links.
    matches!(number, 1290 | 1836 | 1053 | 1927 | 3169 | 3032 | 1047 | 4031 | 1158..=1161)
}

/// The number for a table that is not there.
pub(crate) const NO_TABLE: u16 = 1146;

/// Whether a statement was refused because a savepoint is not there: its transaction has ended (1305), or is undone in InnoDB alone.
pub(crate) fn lacks_savepoint(number: u16, text: &str) -> bool {
    match number {
        1305 => true,
        1030 | 1181 => first_number(text) == Some(153),
        _ => false,
    }
}

/// The error of a storage engine that a server quotes, in whatever language.
fn first_number(text: &str) -> Option<u16> {
    text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_are(expected: StoreErrorKind, state: &str, numbers: &[u16]) {
        for number in numbers {
            assert_eq!(kind(*number, state, "some text"), expected, "{number} {state}");
        }
    }

    #[test]
    fn mysql_numbers_have_their_kinds() {
        use StoreErrorKind::{Conflict, Corrupt, Misconfigured, Transient, Unavailable, Unsupported};
        all_are(Transient, "40001", &[1213]);
        all_are(Transient, "HY000", &[1020, 1205, 3572, 1969, 1615, 1412, 1206, 1637, 3101]);
        all_are(Transient, "70100", &[1317]);
        all_are(Transient, "XA106", &[1613]);
        all_are(Transient, "XA102", &[1614]);
        all_are(Unavailable, "HY000", &[1290, 1836, 1047, 3032, 4031, 3100, 1021, 1030, 1114, 1197, 1129]);
        all_are(Unavailable, "08S01", &[1160, 1053]);
        all_are(Unavailable, "08004", &[1040]);
        all_are(Unavailable, "42000", &[1226, 1203, 1461]);
        all_are(Conflict, "23000", &[1062]);
        all_are(Misconfigured, "42000", &[1044, 1049, 1142]);
        all_are(Misconfigured, "28000", &[1045, 1698]);
        all_are(Misconfigured, "HY000", &[1820, 1862]);
        all_are(Misconfigured, "3D000", &[1046]);
        all_are(Unsupported, "42000", &[1064, 1305]);
        all_are(Misconfigured, "42S02", &[1146]);
        all_are(Unsupported, "25006", &[1792]);
        all_are(Corrupt, "22001", &[1406]);
        all_are(Corrupt, "22003", &[1264]);
        all_are(Corrupt, "23000", &[1048, 1452]);
        all_are(Corrupt, "HY000", &[1366]);
        all_are(Corrupt, "08S01", &[1153]);
    }

    #[test]
    fn a_copy_of_an_online_change_that_is_gone_is_a_conflict() {
        let of = |table: &str| kind(1146, "42S02", &format!("Table 'shop.{table}' doesn't exist"));
        assert_eq!(of("_claimstream_queue_new"), StoreErrorKind::Transient);
        assert_eq!(of("__claimstream_queue_new"), StoreErrorKind::Transient);
        assert_eq!(of("claimstream_queue"), StoreErrorKind::Misconfigured);
        assert_eq!(of("orders"), StoreErrorKind::Misconfigured);
    }

    #[test]
    fn a_trigger_that_a_node_has_not_read_rightly_is_a_conflict() {
        let of = |trigger: &str| {
            kind(1064, "42000", &format!("Trigger '{trigger}' has an error in its body: 'near lo'"))
        };
        assert_eq!(of("claimstream_64_shards_of_message"), StoreErrorKind::Transient);
        assert_eq!(of("audit_of_orders"), StoreErrorKind::Unsupported);
    }

    #[test]
    fn what_is_unknown_may_pass_and_is_never_corrupt() {
        for number in [1105, 9001, 2013, 1644, 3950, u16::MAX] {
            for state in ["HY000", "45000", "", "XX", "\u{e9}"] {
                assert_eq!(kind(number, state, ""), StoreErrorKind::Unavailable, "{number} {state}");
            }
        }
    }

    #[test]
    fn a_savepoint_that_innodb_lacks_is_a_conflict_in_whatever_language() {
        for (number, text) in [
            (1030, "Got error 153 - 'No savepoint with that name' from storage engine"),
            (1030, "Fehler 153 - 'No savepoint with that name' (Speicher-Engine)"),
            (1181, "ROLLBACK\u{4e2d}\u{306b}\u{30a8}\u{30e9}\u{30fc} 153 - 'No savepoint' \u{304c}"),
        ] {
            assert!(lacks_savepoint(number, text), "{text}");
            assert_eq!(kind(number, "HY000", text), StoreErrorKind::Transient, "{text}");
        }
        assert!(lacks_savepoint(1305, "SAVEPOINT claimstream does not exist"));
        assert!(!lacks_savepoint(1030, "Got error 1530 - 'other' from storage engine"));
        assert_eq!(kind(1030, "HY000", "Got error 28 from storage engine"), StoreErrorKind::Unavailable);
    }

    #[test]
    fn an_error_during_a_commit_is_a_deadlock_if_the_storage_engine_says_so() {
        let of = |text| kind(1180, "HY000", text);
        let deadlock = "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT";
        assert_eq!(of(deadlock), StoreErrorKind::Transient);
        assert_eq!(
            of("Got error 5 - 'Transaction size exceed set threshold' during COMMIT"),
            StoreErrorKind::Unavailable
        );
        assert_eq!(of("no number at all"), StoreErrorKind::Unavailable);
    }
}
