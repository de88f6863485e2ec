use std::time::Duration;

use claimstream_suite::Report;

#[test]
fn shows_numbers_refusals_and_what_was_not_run() {
    let report = Report::default();
    for passed in [true, false] {
        report.offer("mysql-9.7", "skip_locked");
        report.note("mysql-9.7", "skip_locked", passed);
    }
    report.offer("memory", "reference");
    report.offer("memory", "reference");
    report.note("memory", "reference", true);
    report.refused("mariadb-10.5", "skip_locked", "it has no SKIP LOCKED");
    report.not_run("mariadb-11.8", "no URL");
    let expected = "store | strategy | passed/run\n\
        mariadb-10.5 | skip_locked | refused: it has no SKIP LOCKED\n\
        memory | reference | 1/1 (1 filtered out)\n\
        mysql-9.7 | skip_locked | 1/2\n\
        not run: mariadb-11.8 (no URL)\n";
    assert_eq!(report.to_string(), expected);
    let inventory = ["mariadb-10.5: skip_locked", "memory: reference", "mysql-9.7: skip_locked"];
    assert_eq!(report.inventory(), inventory);
}

#[test]
fn lists_the_slowest_tests_first() {
    let report = Report::default();
    for (test, millis) in [("short", 40), ("long", 61_250), ("longer than short", 700)] {
        report.took(test, Duration::from_millis(millis));
    }
    let expected =
        "slowest of 3 tests, which took 62 s together:\n   61.2 s  long\n    0.7 s  longer than short\n";
    assert_eq!(report.slowest(2), expected);
}
