use std::sync::LazyLock;

use crate::database::{dialect::Dialect, fragments::Fragments, sql::Sql};

macro_rules! file {
    ($folder:ident / $name:ident, $end:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/sql/",
            stringify!($folder),
            "/",
            stringify!($name),
            $end
        ))
    };
}

/// One struct for each folder of statements. `both` are shared by all servers, `each` has a file for each kind of server,
/// and the others are sent to one kind only.
macro_rules! statements {
    ($($(#[$attribute:meta])* $folder:ident: $Folder:ident {
        $(both: $($both:ident),+;)?
        $(each: $($each:ident),+;)?
        $(mysql: $($mysql:ident),+;)?
        $(sqlite: $($sqlite:ident),+;)?
    })+) => {
        /// Every statement, parsed once for each dialect.
        pub(crate) struct Statements {
            $($(#[$attribute])* pub(crate) $folder: $Folder,)+
        }

        impl Statements {
            fn parse(dialect: Dialect) -> Self {
                let fragments = Fragments::of(dialect);
                Self { $($(#[$attribute])* $folder: $Folder::parse(dialect, &fragments),)+ }
            }

            fn all(&self) -> Vec<(&'static str, &Sql)> {
                [$($(#[$attribute])* self.$folder.all()),+].concat()
            }
        }

        $(
            $(#[$attribute])*
            #[doc = concat!("The statements of the folder `", stringify!($folder), "`.")]
            pub(crate) struct $Folder {
                $($(pub(crate) $both: Sql,)+)?
                $($(pub(crate) $each: Sql,)+)?
                $($(pub(crate) $mysql: Sql,)+)?
                $($(pub(crate) $sqlite: Sql,)+)?
            }

            $(#[$attribute])*
            impl $Folder {
                fn parse(dialect: Dialect, fragments: &Fragments) -> Self {
                    let parse = |file: &str| Sql::parse(dialect, &fragments.expand(file));
                    Self {
                        $($($both: parse(file!($folder / $both, ".sql")),)+)?
                        $($($each: parse(match dialect {
                            Dialect::MySql => file!($folder / $each, ".mysql.sql"),
                            Dialect::Sqlite => file!($folder / $each, ".sqlite.sql"),
                        }),)+)?
                        $($($mysql: parse(match dialect {
                            Dialect::MySql => file!($folder / $mysql, ".mysql.sql"),
                            Dialect::Sqlite => "",
                        }),)+)?
                        $($($sqlite: parse(match dialect {
                            Dialect::MySql => "",
                            Dialect::Sqlite => file!($folder / $sqlite, ".sqlite.sql"),
                        }),)+)?
                    }
                }

                fn all(&self) -> Vec<(&'static str, &Sql)> {
                    vec![
                        $($((concat!(stringify!($folder), "/", stringify!($both)), &self.$both),)+)?
                        $($((concat!(stringify!($folder), "/", stringify!($each)), &self.$each),)+)?
                        $($((concat!(stringify!($folder), "/", stringify!($mysql)), &self.$mysql),)+)?
                        $($((concat!(stringify!($folder), "/", stringify!($sqlite)), &self.$sqlite),)+)?
                    ]
                }
            }
        )+
    };
}

statements! {
    alive: AliveSql {
        both: dead;
        each: live, unreadable;
    }
    bench: BenchSql {
        both: beat, look, row, table;
        mysql: databases, hold, let_go, strangers;
    }
    claim: ClaimSql {
        both: body, instance, peek, read;
        each: take;
        mysql: lock, mark;
    }
    dead_letters: DeadLetterSql {
        both: bare, body, count, count_reason, delete, known, list, listed, lock, next_queue, others, rename, revive_message, revive_queue;
        each: newest;
    }
    doctor: DoctorSql {
        both: clock, ids, strategies;
        mysql: columns, rights, server, tables;
    }
    #[cfg(feature = "notifications")]
    digests: DigestSql {
        both: close, forget, item, items, joined, known, opened;
        each: join;
    }
    #[cfg(feature = "notifications")]
    directory: DirectorySql {
        both: leave_segments, members, page, put_member, put_segment, put_user, remove_members, remove_user, segment, segments, share, users;
    }
    enqueue: EnqueueSql {
        both: dedup, dedup_or_fail, dedup_read, discard, known, message, queue;
    }
    #[cfg(feature = "notifications")]
    erasures: ErasureSql {
        both: held, hold, keep, note, oldest, release, requests;
        each: forget_older;
    }
    #[cfg(feature = "notifications")]
    in_app: InAppSql {
        both: erased, mark_read, newest, page, page_after, put, recent, unread;
        each: forget_older, forget_user, mark_read_up_to;
    }
    #[cfg(feature = "steps")]
    locks: LockSql {
        both: list, make, read, release, renew, take;
        each: forget;
    }
    #[cfg(feature = "notifications")]
    notifications: NotificationSql {
        both: are_used, erase_attempts, erase_body, erase_dead, erase_fingerprint, erase_in_app, erase_payloads, erase_receipts, erase_record, erase_records, erase_request, erase_requests, erase_since, erase_window, message_conclude, message_page, message_pending, message_read, message_record, message_reopen, message_state, message_status, message_take_back, outbox_find, outbox_remove, request_cancel, request_counts, request_dispatch, request_hold, request_insert, request_known, request_lock, request_move, request_of_message, request_read, request_status, request_taken;
        each: message_conclude_each, request_list, request_list_after, request_listed;
        mysql: rights;
    }
    #[cfg(feature = "notifications")]
    request_sweep: RequestSweepSql {
        both: dead, delete, erasures, messages, messages_delete, page, receipts;
    }
    #[cfg(feature = "notifications")]
    attempts: AttemptSql {
        both: forget, note, orphans, page;
    }
    #[cfg(feature = "notifications")]
    receipts: ReceiptSql {
        both: end_wait, find, keep, known, lock, page, payload, wait, waiting;
        each: forget_waiting;
    }
    #[cfg(feature = "notifications")]
    rates: RateSql {
        both: make, read, take;
    }
    observe: ObserveSql {
        both: claimed, dead, find, first_key, instances, kept, key_queue, keyed, last_key, lease, leased, leases, leases_of, live, places;
    }
    audit: AuditSql {
        both: note, page;
        each: forget_older;
    }
    pauses: PauseSql {
        both: again, first, list, resume;
    }
    #[cfg(feature = "notifications")]
    preferences: PreferenceSql {
        both: change, forget, forget_address, forget_owner, keep, lift, lock, read, suppress, suppressed;
    }
    probe: ProbeSql {
        mysql: lock, skip;
    }
    routine: RoutineSql {
        mysql: grants, standing;
    }
    #[cfg(feature = "steps")]
    sagas: SagaSql {
        both: next_scope, note, old, page, page_after, read, shorten;
    }
    resharding: ReshardingSql {
        both: begin, bodies, close, cut, end, lease, let_go, letters, mend_bodies, mend_letters, move_bodies, move_rows, next_queue, page, shards, take, undo;
        mysql: prepared, triggers;
        sqlite: encoding;
    }
    #[cfg(feature = "notifications")]
    remains: RemainsSql {
        both: bodies, carriers, delivered, hold, lost_items, open_requests, pending, requeue, standing, steps;
    }
    savepoint: SavepointSql {
        both: undo;
        each: proof;
        mysql: at_home, begin, begin_group, commit, commit_galera, commit_group, commit_proof, commit_proof_galera, home, known, remember, renew, renew_galera, renew_group, roll_back;
        sqlite: release, set;
    }
    schema: SchemaSql {
        both: applied, identity, shard_insert, shard_list, there, versions;
        each: indexes, tables;
        mysql: fresh;
    }
    session: SessionSql {
        mysql: brief, cipher, now, rollback, server, setup, short_lock_wait, transaction;
    }
    settle: SettleSql {
        both: dead, done, done_whole, find, release, renew, retry, standing, trace, uncount;
    }
    shard_lease: ShardLeaseSql {
        both: charge, count, dead, done, end, held, insert, oldest, over, park, peek, prove, read, read_on, release, retry, token, uncount, write;
        mysql: lock, rights, tokens, write_all;
    }
    #[cfg(feature = "steps")]
    steps: StepSql {
        both: begin, change, find, forget, of_run, open_runs, page, reach, runs;
        each: lock;
        mysql: lock_now, rights;
    }
    sweep: SweepSql {
        both: delete, instances, keys, left, page;
        each: dedup, live, unreadable;
        mysql: history, keys_lock;
    }
    topology: TopologySql {
        mysql: group, replica, settings, status;
    }
    #[cfg(feature = "notifications")]
    templates: TemplateSql {
        both: draft, page, publication, publish, published, save, version, versions;
    }
    twins: TwinsSql {
        both: end, find, lock;
    }
}

impl Statements {
    pub(crate) fn of(dialect: Dialect) -> &'static Self {
        static MYSQL: LazyLock<Statements> = LazyLock::new(|| Statements::parse(Dialect::MySql));
        static SQLITE: LazyLock<Statements> = LazyLock::new(|| Statements::parse(Dialect::Sqlite));
        match dialect {
            Dialect::MySql => &MYSQL,
            Dialect::Sqlite => &SQLITE,
        }
    }
}

/// Every statement that the adapter sends, as `(name, text)`, to be read or EXPLAINed.
///
/// The name is the file's place under `sql/`, the text is sent as it is: `:name` stands for a bound value, or for a list of
/// them inside `IN (...)`.
pub fn statements(dialect: Dialect) -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<_> =
        Statements::of(dialect).all().into_iter().map(|(name, sql)| (name, sql.text())).collect();
    all.retain(|(_, text)| !text.is_empty());
    all.sort_unstable();
    all
}

#[cfg(all(test, feature = "steps", feature = "notifications"))]
mod tests {
    use std::{
        collections::BTreeSet,
        env, fs,
        path::{Path, PathBuf},
    };

    use super::*;

    /// The folders of scripts that make tables, triggers, views and routines.
    const SCRIPTS: [&str; 3] = ["extras/", "tables/", "triggers/"];

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql")
    }

    /// What each server is sent, to be pasted into its shell; a change of a statement shows there as a difference.
    /// With `CLAIMSTREAM_GOLDEN=write` the files are written again.
    #[test]
    fn what_each_server_is_sent_stands_in_the_golden_files() {
        for (dialect, file) in [(Dialect::MySql, "mysql.sql"), (Dialect::Sqlite, "sqlite.sql")] {
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(file);
            let blocks = statements(dialect)
                .into_iter()
                .map(|(name, text)| format!("-- {name}\n{};\n", text.trim_end_matches(';')));
            let sent = blocks.collect::<Vec<_>>().join("\n");
            if env::var("CLAIMSTREAM_GOLDEN").is_ok_and(|wish| wish == "write") {
                fs::write(&golden, &sent).unwrap();
            }
            let known = fs::read_to_string(&golden).unwrap();
            for (sent, known) in sent.split("\n\n").zip(known.split("\n\n")) {
                assert_eq!(sent, known, "{file}: CLAIMSTREAM_GOLDEN=write writes what is sent now");
            }
            assert_eq!(sent.len(), known.len(), "{file}: a statement has come or gone");
        }
    }

    #[test]
    fn every_fragment_is_expanded() {
        for (name, text) in [statements(Dialect::MySql), statements(Dialect::Sqlite)].concat() {
            // A path into JSON begins with a dollar, too.
            let text = text.replace("'$.", "'");
            assert!(!text.contains(['{', '}', '$']), "{name} has an unknown fragment: {text}");
        }
    }

    #[test]
    fn every_file_is_a_statement_that_is_sent() {
        let listed = |dialect| statements(dialect).into_iter().map(|(name, _)| name.to_owned());
        let listed: BTreeSet<String> = listed(Dialect::MySql).chain(listed(Dialect::Sqlite)).collect();
        let folders =
            fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|at| at.is_dir());
        let files = folders.flat_map(|at| fs::read_dir(at).unwrap()).map(|entry| entry.unwrap().path());
        let name = |file: PathBuf| {
            let name = file.strip_prefix(folder()).unwrap().to_str().unwrap().replace('\\', "/");
            name.split_once('.').unwrap().0.to_owned()
        };
        let found: BTreeSet<String> =
            files.map(name).filter(|name| !SCRIPTS.iter().any(|folder| name.starts_with(folder))).collect();
        assert_eq!(found, listed);
    }
}
