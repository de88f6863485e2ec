use serde::Serialize;

use crate::{
    Failure,
    libraries::{Apalis, Fang, Gears, Ruststream},
    library::Library,
};

/// A library in one configuration, by the name the benchmark calls it.
pub(crate) struct Contender {
    name: &'static str,
    version: &'static str,
    /// What is not like for like.
    note: &'static str,
    pub(crate) library: &'static dyn Library,
}

static CONTENDERS: [Contender; 6] = [
    Contender {
        name: "ruststream_row",
        version: "ruststream-sqlx 0.7.1",
        note: "holds a transaction open while handling; counts no attempts; one claim is one transaction of up to 500 rows",
        library: &Ruststream::RowLock,
    },
    Contender {
        name: "ruststream_lease",
        version: "ruststream-sqlx 0.7.1",
        note: "leases, as we do; counts no attempts; stamps and deletes row by row",
        library: &Ruststream::Lease,
    },
    Contender {
        name: "gears",
        version: "cf-gears-toolkit-db 0.17.2",
        note: "an acknowledgement moves the cursor of one of 16 partitions and deletes nothing; clearing up comes later and is only partly in the figure; may stall until a reconciler runs after 60 s",
        library: &Gears::AsShipped,
    },
    Contender {
        name: "gears_reconciled",
        version: "cf-gears-toolkit-db 0.17.2",
        note: "as gears, with the reconciler every 50 ms, so that it does not stall",
        library: &Gears::Reconciled,
    },
    Contender {
        name: "apalis",
        version: "apalis-mysql 1.0.0-rc.8 with apalis 1.0.0-rc.9",
        note: "takes 1000 jobs at once, then locks and acknowledges each with a statement of its own; finished jobs stay in the table; JSON around the payload; its schema is patched where a server lacks its collation",
        library: &Apalis,
    },
    Contender {
        name: "fang",
        version: "fang 0.11.0",
        note: "sorts the whole backlog for each task, so it needs a small one; takes a task without a transaction, so that two workers may be given the same; JSON around the payload; enqueues one task per transaction whatever is asked for",
        library: &Fang,
    },
];

/// The one of this name.
pub(crate) fn find(name: &str) -> Result<&'static Contender, Failure> {
    let found = CONTENDERS.iter().find(|contender| contender.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = CONTENDERS.iter().map(|contender| contender.name).collect();
        format!("nobody here is called {name:?}; there are {}", names.join(", ")).into()
    })
}

/// Prints everybody, one a line.
pub(crate) fn list() -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        version: &'static str,
        note: &'static str,
        scenarios: [&'static str; 2],
    }
    for Contender { name, version, note, .. } in &CONTENDERS {
        println!(
            "{}",
            serde_json::to_string(&Line { name, version, note, scenarios: ["drain", "enqueue"] })?
        );
    }
    Ok(())
}
