use std::collections::BTreeMap;

use claimstream_sea_orm::OpenOptions;
use claimstream_testbed::ScratchDatabase;

const OUTBOX: &str = "CLAIMSTREAM_MARIADB_10_11_URL";
const INBOX: &str = "CLAIMSTREAM_MYSQL_9_7_URL";

/// The two databases, on two servers.
pub(super) struct Databases {
    outbox: ScratchDatabase,
    inbox: ScratchDatabase,
}

impl Databases {
    pub(super) fn are_named() -> bool {
        [OUTBOX, INBOX].iter().all(|name| std::env::var(name).is_ok_and(|url| !url.is_empty()))
    }

    pub(super) async fn create() -> Self {
        let name = format!("trial_{}", uuid::Uuid::now_v7().simple());
        let of = |variable: &str| std::env::var(variable).unwrap();
        Self {
            outbox: ScratchDatabase::create(&of(OUTBOX), &name).await.unwrap(),
            inbox: ScratchDatabase::create(&of(INBOX), &name).await.unwrap(),
        }
    }

    pub(super) fn outbox(&self) -> String {
        self.outbox.url()
    }

    pub(super) fn inbox(&self) -> String {
        self.inbox.url()
    }
}

/// With the order by key.
pub(super) fn options() -> OpenOptions {
    OpenOptions {
        strategy: "shard_lease".parse().unwrap(),
        order: "per_key".parse().unwrap(),
        ..OpenOptions::default()
    }
}

/// The numbers of a key ascend, and none is there twice.
pub(super) fn check_order(numbers: &[u64], keys: u64) {
    let mut last = BTreeMap::new();
    for number in numbers {
        if let Some(before) = last.insert(number % keys, *number) {
            assert!(before < *number, "{number} came after {before}");
        }
    }
}
