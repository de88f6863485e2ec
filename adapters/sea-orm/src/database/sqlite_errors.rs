use claimstream_ports::StoreErrorKind;

/// The kind of an error by SQLite's result code. The low byte of an extended code is its family.
pub(crate) fn kind(code: &str) -> StoreErrorKind {
    let code: u32 = code.parse().unwrap_or_default();
    match (code, code & 0xff) {
        // UNIQUE, PRIMARY KEY and ROWID.
        (2067 | 1555 | 2579, _) => StoreErrorKind::Conflict,
        // BUSY, LOCKED, INTERRUPT, SCHEMA (which another connection has just changed).
        (_, 5 | 6 | 9 | 17) => StoreErrorKind::Transient,
        // PERM, AUTH.
        (_, 3 | 23) => StoreErrorKind::Misconfigured,
        // ERROR (such as an unknown table), RANGE; a file that is damaged, or none of SQLite's: that is no message's fault.
        (_, 1 | 25 | 11 | 24 | 26) => StoreErrorKind::Unsupported,
        // TOOBIG, CONSTRAINT (a trigger's RAISE among them, which is a rule about a row), MISMATCH.
        (_, 18..=20) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Unavailable,
    }
}

/// How SQLite begins its text on a table that is not there: it has no number for it.
pub(crate) const NO_TABLE: &str = "no such table";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_codes_have_their_kinds() {
        assert_eq!(kind("5"), StoreErrorKind::Transient);
        assert_eq!(kind("517"), StoreErrorKind::Transient);
        assert_eq!(kind("17"), StoreErrorKind::Transient);
        assert_eq!(kind("2067"), StoreErrorKind::Conflict);
        assert_eq!(kind("13"), StoreErrorKind::Unavailable);
        assert_eq!(kind("18"), StoreErrorKind::Corrupt);
        assert_eq!(kind("1299"), StoreErrorKind::Corrupt);
        assert_eq!(kind("11"), StoreErrorKind::Unsupported);
    }

    #[test]
    fn what_is_unknown_may_pass_and_is_never_corrupt() {
        for code in ["", "7", "15", "999"] {
            assert_eq!(kind(code), StoreErrorKind::Unavailable, "{code}");
        }
    }
}
