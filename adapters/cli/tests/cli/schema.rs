//! Promise: the routine and the view are printed without a database, and replaced any number of times

use sea_orm::{ConnectionTrait, Database};

use crate::{
    database_server::{Scratch, servers},
    operator::Operator,
};

#[test]
fn is_printed_for_each_dialect() {
    let operator = Operator::new();
    let print =
        |dialect: &str| operator.run(&["schema", "print", "--dialect", dialect, "--shards", "3"]).succeeded();
    let shards = "SELECT 0 AS shard UNION ALL SELECT 1 AS shard UNION ALL SELECT 2 AS shard)";
    assert!(print("mysql").contains("ENGINE = InnoDB") && print("mysql").contains(shards));
    assert!(print("sqlite").contains("WITHOUT ROWID"));
    let unknown = operator.run(&["schema", "print"]).failed(2);
    assert!(unknown.contains("give --dialect mysql or --dialect sqlite"), "{unknown}");
    let known = operator.set("CLAIMSTREAM_DATABASE__URL", "sqlite://x.db");
    assert!(known.run(&["schema", "print"]).succeeded().contains("WITHOUT ROWID"));
    assert!(!known.path("x.db").exists());
    assert!(known.run(&["schema", "print", "--shards", "257"]).failed(2).contains("1 to 256"));
}

#[tokio::test]
async fn what_is_printed_makes_a_database_that_is_taken_as_it_is() {
    let operator = Operator::at("sqlite://claimstream.db");
    let script = operator.run(&["schema", "print", "--shards", "5"]).succeeded();
    let file = format!("sqlite://{}?mode=rwc", operator.path("claimstream.db").display());
    let database = Database::connect(file).await.unwrap();
    database.execute_unprepared(&script).await.unwrap();
    database.close().await.unwrap();
    let applied =
        operator.run(&["schema", "apply", "--for", "notifications,steps", "--shards", "5"]).succeeded();
    assert!(applied.contains("into 5 shards"), "{applied}");
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
}

#[test]
fn is_applied_once_however_often_it_is_asked_for() {
    let operator = Operator::new().set("CLAIMSTREAM_DATABASE_URL", "sqlite://claimstream.db");
    let first =
        operator.run(&["schema", "apply", "--for", "notifications,steps", "--shards", "4"]).succeeded();
    assert_eq!(
        first,
        "the tables are there, for outbox, steps, notifications; queues are cut into 4 shards\n"
    );
    let second = operator.run(&["schema", "apply", "--for", "notifications,steps", "--shards", "8"]);
    assert!(second.err.contains("warning: 8 shards were asked for"), "{second:?}");
    assert_eq!(second.succeeded(), first);
}

#[test]
fn is_not_made_by_a_command_that_only_looks() {
    let operator = Operator::at("sqlite://claimstream.db");
    for looking in
        [&["status"][..], &["dead", "list"], &["doctor"], &["cancel", "00000000-0000-0000-0000-000000000000"]]
    {
        let ended = operator.run(looking);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!(format!("{ended:?}").contains("claimstream schema apply"), "{ended:?}");
        assert!(!operator.path("claimstream.db").exists());
    }
    let refused = operator.run(&["notify", "-", "--set", "database.create_schema=false"]).failed(1);
    assert!(refused.contains("there is no database claimstream.db"), "{refused}");
}

#[test]
fn a_plan_names_what_is_sent_and_changes_nothing() {
    let operator = Operator::at("sqlite://claimstream.db");
    let planned = operator.run(&["schema", "plan"]).succeeded();
    assert!(planned.contains("outbox without tables\n"), "{planned}");
    assert!(planned.contains("nothing was changed") && planned.contains("makes the table"), "{planned}");
    assert!(!operator.path("claimstream.db").exists(), "no file is made");
    let with_sql = operator.run(&["schema", "plan", "--sql"]).succeeded();
    assert!(
        !planned.contains("CREATE TABLE")
            && with_sql.contains("CREATE TABLE IF NOT EXISTS claimstream_pause")
    );
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    let planned = operator.run(&["schema", "plan"]).succeeded();
    assert!(
        planned.ends_with("nothing is to be done\n")
            && planned.contains("outbox version 1 of 1, steps version 1 of 1"),
        "{planned}"
    );
    let nowhere = Operator::new().set("CLAIMSTREAM_DATABASE__URL", "mysql://me@127.0.0.1:1/shop");
    assert!(nowhere.run(&["schema", "plan"]).failed(1).contains("Connection refused"));
}

/// Guard: `schema plan` and `doctor` name tables that are gone, and `schema apply` makes none without its rows |
/// adapters/sea-orm/src/outbox/gone_tables.rs `gone_tables`: returns none
#[tokio::test]
async fn tables_that_are_gone_are_named_and_not_made_without_rows() {
    let file = Operator::with_database();
    are_named(&file, &format!("sqlite://{}", file.path("claimstream.db").display())).await;
    for (_, url) in servers("tables_that_are_gone_are_named_and_not_made_without_rows") {
        let scratch = Scratch::on(url).await;
        let operator = Operator::at(&scratch.url());
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        are_named(&operator, &scratch.url()).await;
    }
}

async fn are_named(operator: &Operator, url: &str) {
    const TABLES: [&str; 2] = ["claimstream_message", "claimstream_pause"];
    let doctor = operator.run(&["doctor"]).out;
    assert!(doctor.contains("all tables are there"), "{doctor}");
    let database = Database::connect(url).await.unwrap();
    for table in TABLES {
        database.execute_unprepared(&format!("DROP TABLE {table}")).await.unwrap();
    }
    database.close().await.unwrap();
    let gone = TABLES.join(", ");
    let plan = operator.run(&["schema", "plan"]).succeeded();
    assert!(plan.contains(&format!("tables are gone: {gone};")), "{plan}");
    let examined = operator.run(&["doctor"]);
    assert!(examined.out.contains(&format!("gone: {gone}; restore")), "{examined:?}");
    assert_eq!(examined.code, Some(1), "{examined:?}");
    let refused = operator.run(&["schema", "apply", "--for", "notifications,steps"]).failed(1);
    assert!(refused.contains(&gone) && refused.contains("restore them from a backup"), "{refused}");
    // Without this one it cannot even be opened.
    let database = Database::connect(url).await.unwrap();
    database.execute_unprepared("DROP TABLE claimstream_schema").await.unwrap();
    database.close().await.unwrap();
    let examined = operator.run(&["doctor"]);
    assert!(
        examined.out.contains("gone: claimstream_message, claimstream_pause, claimstream_schema; restore"),
        "{examined:?}"
    );
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).failed(1);
}

#[test]
fn parts_for_other_languages_are_printed_without_a_database() {
    let operator = Operator::new();
    let routines = operator.run(&["schema", "routines"]).succeeded();
    assert!(
        routines.contains("DELIMITER //\n") && routines.contains("PROCEDURE claimstream_enqueue("),
        "{routines}"
    );
    let view = operator.run(&["schema", "debezium-view"]).succeeded();
    assert!(view.contains("VIEW claimstream_debezium") && view.ends_with(";\n"), "{view}");
    let file = Operator::with_database();
    for part in ["routines", "debezium-view"] {
        let refused = file.run(&["schema", part, "--apply"]).failed(1);
        assert!(
            refused.contains("SQLite has no") && refused.contains("docs/other-languages.md"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn parts_for_other_languages_are_made_on_a_server_and_may_be_made_again() {
    for (_, url) in servers("parts_for_other_languages_are_made_on_a_server_and_may_be_made_again") {
        let scratch = Scratch::on(url).await;
        let operator = Operator::at(&scratch.url());
        for (part, object) in [("routines", "claimstream_enqueue"), ("debezium-view", "claimstream_debezium")]
        {
            let refused = operator.run(&["schema", part, "--apply"]).failed(1);
            assert!(refused.contains("claimstream schema apply"), "{refused}");
            operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
            for _ in 0..2 {
                let made = operator.run(&["schema", part, "--apply"]).succeeded();
                assert_eq!(made, format!("{object} is there\n"));
            }
            scratch.run(&format!("DROP DATABASE {0}; CREATE DATABASE {0}", scratch.name())).await;
        }
    }
}

/// Guard: doctor names what the configuration uses and has no tables | adapters/cli/src/command/doctor.rs `examine`: no
/// `examine_capabilities`
#[test]
fn what_is_configured_and_has_no_tables_is_found() {
    let operator = Operator::at("sqlite://claimstream.db");
    operator.run(&["schema", "apply"]).succeeded();
    operator.run(&["doctor"]).succeeded();
    let configured = ["--set", "database.capabilities=steps"];
    let found = operator.run(&[&["doctor"], &configured[..]].concat());
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.out.contains("run `claimstream schema apply --for steps`"), "{found:?}");
    operator.run(&[&["schema", "apply"], &configured[..]].concat()).succeeded();
    operator.run(&[&["doctor"], &configured[..]].concat()).succeeded();
}
