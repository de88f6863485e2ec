use crate::{database::dialect::Dialect, sql::Sql};

macro_rules! statements {
    (both: $($both:ident),* ; mysql: $($mysql:ident),* $(;)?) => {
        /// Every statement, parsed once.
        pub(crate) struct Statements {
            $(pub(crate) $both: Sql,)*
            $(pub(crate) $mysql: Sql,)*
        }

        impl Statements {
            pub(crate) fn of(dialect: Dialect) -> Self {
                match dialect {
                    Dialect::MySql => Self {
                        $($both: Sql::parse(dialect, include_str!(concat!("sql/mysql/", stringify!($both), ".sql"))),)*
                        $($mysql: Sql::parse(dialect, include_str!(concat!("sql/mysql/", stringify!($mysql), ".sql"))),)*
                    },
                    Dialect::Sqlite => Self {
                        $($both: Sql::parse(dialect, include_str!(concat!("sql/sqlite/", stringify!($both), ".sql"))),)*
                        $($mysql: Sql::parse(dialect, ""),)*
                    },
                }
            }
        }

        /// Every statement the adapter sends, as `(name, text)`, for people who want to read or EXPLAIN it.
        ///
        /// `:name` stands for a bound value, or for a list of them inside `IN (...)`.
        pub fn statements(dialect: Dialect) -> Vec<(&'static str, &'static str)> {
            match dialect {
                Dialect::MySql => vec![
                    $((stringify!($both), include_str!(concat!("sql/mysql/", stringify!($both), ".sql"))),)*
                    $((stringify!($mysql), include_str!(concat!("sql/mysql/", stringify!($mysql), ".sql"))),)*
                ],
                Dialect::Sqlite => vec![
                    $((stringify!($both), include_str!(concat!("sql/sqlite/", stringify!($both), ".sql"))),)*
                ],
            }
        }
    };
}

statements! {
    both:
        claim_take, claim_read, body_read, peek, instance,
        settle_done, settle_done_whole, settle_retry, settle_return, settle_uncount, settle_dead, settle_find, settle_trace,
        settle_standing, renew,
        lease_peek, lease_insert, lease_write, lease_prove, lease_token, lease_over, lease_end, lease_read, lease_read_on, lease_charge, lease_count, lease_uncount, lease_done,
        lease_retry, lease_park, lease_dead, lease_held, lease_oldest,
        lock_take, lock_make, lock_read, lock_renew, lock_release, sweep_locks,
        enqueue_dedup, enqueue_dedup_read, enqueue_message, enqueue_queue, enqueue_known, enqueue_discard,
        savepoint_proof, savepoint_undo, identity,
        observe_live, observe_dead,
        dead_list, dead_page, dead_lock, dead_delete, dead_known, dead_body, dead_bare, dead_others, dead_rename,
        revive_message, revive_queue, twins_find, twins_lock, twins_end, doctor_ids, doctor_steps,
        sweep_live, sweep_page, sweep_left, sweep_delete, sweep_keys, sweep_dedup, sweep_instances,
        request_insert, request_known, request_open, request_read, request_close, request_reopen,
        request_cancel,
        message_record, message_status, message_conclude, message_reopen, message_count, message_page,
        step_begin, step_lock, step_find, step_change, step_live, step_dead, step_page, step_forget,
        saga_note, saga_read, saga_page, saga_page_after,
        shard_list, shard_insert, schema_version, schema_applied;
    mysql:
        claim_lock, claim_mark, lease_lock, step_lock_now, now, history, probe_lock, probe_skip,
        session_cipher, session_transaction, doctor_server, doctor_columns, doctor_tables;
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use crate::sql::text;

    /// What each server is sent, to be pasted into its shell; a change of a statement shows there as a difference.
    /// With `CLAIMSTREAM_GOLDEN=write` the files are written anew.
    #[test]
    fn what_each_server_is_sent_stands_in_the_golden_files() {
        for dialect in ["mysql", "sqlite"] {
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{dialect}.sql"));
            let sent = sent(dialect);
            if env::var("CLAIMSTREAM_GOLDEN").is_ok_and(|wish| wish == "write") {
                fs::write(&golden, &sent).unwrap();
            }
            let known = fs::read_to_string(&golden).unwrap();
            for (sent, known) in sent.split("\n\n").zip(known.split("\n\n")) {
                assert_eq!(sent, known, "{dialect}: CLAIMSTREAM_GOLDEN=write writes what is sent now");
            }
            assert_eq!(sent.len(), known.len(), "{dialect}: a statement has come or gone");
        }
    }

    fn sent(dialect: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql").join(dialect);
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let blocks = files.iter().filter_map(|file| {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let of_schema =
                name.starts_with("schema_") && !["schema_version", "schema_applied"].contains(&name);
            let text = text(&fs::read_to_string(file).unwrap());
            (!of_schema).then(|| format!("-- {name}\n{};\n", text.trim_end_matches(';')))
        });
        blocks.collect::<Vec<_>>().join("\n")
    }
}
