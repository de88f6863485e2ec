use std::io::Read;

use flate2::read::ZlibDecoder;

/// How much of a statement is looked at; the name of the table that it writes to stands near its beginning.
const LOOKED_AT: usize = 2_048;

/// The table whose rows relays claim.
pub(crate) const TABLE: &str = "claimstream_queue";

/// Whether a statement of the log may have put rows into the queue of `database`, of which a writer named `used` as its own.
///
/// A server logs statements instead of rows under the formats `STATEMENT` and `MIXED`.
pub(crate) fn may_enqueue(statement: &[u8], used: &[u8], database: &str) -> bool {
    let text = String::from_utf8_lossy(&statement[..statement.len().min(LOOKED_AT)]).to_ascii_lowercase();
    let mut words = uncommented(&text).split_ascii_whitespace();
    match words.next() {
        // What was written under a prepared transaction is seen from now on.
        Some("xa") => words.next() == Some("commit"),
        Some("insert" | "replace") => {
            let database = database.to_ascii_lowercase();
            let is_ours = used.eq_ignore_ascii_case(database.as_bytes()) || text.contains(&database);
            is_ours && text.contains(TABLE)
        }
        _ => false,
    }
}

/// The text without blanks and comments before its first word.
fn uncommented(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let comment = match rest {
            it if it.starts_with("/*") => it.split_once("*/"),
            it if it.starts_with("-- ") || it.starts_with('#') => it.split_once('\n'),
            _ => return rest,
        };
        match comment {
            Some((_, after)) => rest = after.trim_start(),
            None => return "",
        }
    }
}

/// A statement of MariaDB's log: the database that was in use, and the text, decompressed as far as it is looked at.
pub(crate) fn decompressed(event: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    // Thread 4, time 4, length of the database's name 1, error 2, length of the status variables 2.
    const FIXED: usize = 13;
    let (name, variables) = (*event.get(8)?, u16::from_le_bytes([*event.get(11)?, *event.get(12)?]));
    let name_at = FIXED + usize::from(variables);
    let text_at = name_at + usize::from(name) + 1;
    let used = event.get(name_at..text_at - 1)?.to_vec();
    let packed = event.get(text_at..)?;
    // The first byte has the algorithm, of which there is one, and how many bytes contain the length of the text.
    let first = *packed.first()?;
    if first & 0xe0 != 0x80 {
        return None;
    }
    let zlib = packed.get(1 + usize::from(first & 0x07)..)?;
    let mut text = Vec::new();
    // Later bytes may be damaged and are not needed.
    let read = ZlibDecoder::new(zlib).take(LOOKED_AT as u64).read_to_end(&mut text);
    (read.is_ok() || !text.is_empty()).then_some((used, text))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::ZlibEncoder};

    use super::*;

    fn may(statement: &str) -> bool {
        may_enqueue(statement.as_bytes(), b"shop", "shop")
    }

    #[test]
    fn what_puts_rows_into_the_queue_may_enqueue() {
        assert!(may("INSERT INTO claimstream_queue (queue) VALUES ('a')"));
        assert!(may("  /* app */ -- by hand\n insert ignore into `claimstream_queue` SET queue = 'a'"));
        assert!(may("REPLACE INTO shop.claimstream_queue VALUES (1)"));
        assert!(may("XA COMMIT X'01',X'',1"));
        assert!(may_enqueue(b"INSERT INTO shop.claimstream_queue VALUES (1)", b"other", "Shop"));
    }

    #[test]
    fn claims_and_whatever_others_write_do_not() {
        for other in [
            "UPDATE claimstream_queue SET claim_id = NULL",
            "DELETE FROM claimstream_queue",
            "INSERT INTO orders VALUES (1)",
            "BEGIN",
            "COMMIT",
            "XA END X'01'",
            "/* INSERT INTO claimstream_queue",
            "",
        ] {
            assert!(!may(other), "{other}");
        }
        assert!(!may_enqueue(b"INSERT INTO claimstream_queue VALUES (1)", b"other", "shop"));
    }

    #[test]
    fn a_compressed_statement_is_read_as_far_as_is_needed() {
        let long = format!("INSERT INTO claimstream_queue VALUES ('{}')", "x".repeat(100_000));
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(long.as_bytes()).unwrap();
        let mut event = vec![0; 8];
        event.extend([4, 0, 0, 3, 0, 9, 9, 9]);
        event.extend(b"shop\0");
        event.extend([0x83, 1, 2, 3]);
        event.extend(zlib.finish().unwrap());
        let (used, text) = decompressed(&event).unwrap();
        assert!(may_enqueue(&text, &used, "shop") && text.len() == LOOKED_AT);
        assert_eq!(decompressed(&event[..20]), None);
        assert_eq!(decompressed(&[]), None);
    }
}
