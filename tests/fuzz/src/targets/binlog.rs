#[cfg(feature = "brokers")]
use claimstream_binlog::BinlogPlace;

#[cfg(feature = "brokers")]
use crate::head::{is_secret, text};
use crate::{Target, head::split};

#[path = "../../../../adapters/binlog/src/statement.rs"]
mod statement;

/// A statement of the log after the database that its writer used.
pub(super) const STATEMENT: Target = Target {
    name: "binlog_statement",
    run: |data| {
        let (used, statement) = split(data, b'\n');
        let enqueues = statement::may_enqueue(statement, used, "shop");
        let names_it = String::from_utf8_lossy(statement).to_ascii_lowercase().contains(statement::TABLE);
        let commits = String::from_utf8_lossy(statement).to_ascii_lowercase().contains("xa");
        assert!(!enqueues || names_it || commits, "a statement that does not name the table wakes relays");
        enqueues
    },
    seeds: &[
        b"shop\nINSERT INTO claimstream_queue (queue) VALUES ('orders')",
        b"other\n/* traced */ -- twice\nREPLACE INTO shop.claimstream_queue VALUES (1)",
        b"shop\nXA COMMIT X'01',X'',1",
    ],
};

/// An event of MariaDB's log with a compressed statement.
pub(super) const COMPRESSED: Target = Target {
    name: "binlog_compressed",
    run: |data| {
        let found = statement::decompressed(data);
        found.is_some_and(|(used, text)| statement::may_enqueue(&text, &used, "shop"))
    },
    seeds: &[
        // `XA COMMIT 1` without variables of the session, and an INSERT behind two bytes of them.
        b"\x01\0\0\0\0\0\0\0\x04\0\0\0\0shop\0\x81\x0bx\x9c\x8bpTp\xf6\xf7\xf5\xf5\x0cQ0\x04\0\x11\x9e\x02\xd4",
        b"\x01\0\0\0\0\0\0\0\x04\0\0\x02\0\x01\x02shop\0\x810x\x9c\xf3\xf4\x0bv\x0d\x0aQ\xf0\xf4\x0b\xf1WH\xceI\xcc\xcc-.)JM\xcc\x8d/,M-MU\xd0\0S\x9a\x0aa\x8e>\xa1\xae\xc1\x0a\x1a\x86\x9a\0\x8b\xae\x0f\x8e",
    ],
};

/// The URL of a server whose log is read.
#[cfg(feature = "brokers")]
pub(super) const URL: Target = Target {
    name: "binlog_url",
    run: |data| {
        let Some(url) = text(data) else { return false };
        let Ok(place) = url.parse::<BinlogPlace>() else { return false };
        assert!(!is_secret(url) || !format!("{place:?} {place}").contains("hunter2"), "a password is shown");
        true
    },
    seeds: &[
        b"mysql://relay:hunter2@db.example.com:3306/shop",
        b"mysql://u@[::1]/shop?ssl-mode=VERIFY_IDENTITY&ssl-ca=%2Fetc%2Fca.pem&socket=/tmp/s",
        b"mariadb://u:hunter2@a,b:3307/shop",
    ],
};
