//! Promise: an import of users accepts valid lines, names the others, and may be repeated

use crate::operator::Operator;

const HERE: [&str; 2] = ["--set", "directory.source=database"];

const USERS: &str = r#"{"user":"u-1","email":"ann@example.com","language":"de","attributes":{"name":"Ann","seats":3}}
{"user":"u-2","phone":"+49171555667"}
{"user":"u-4","emial":"x@example.com"}
"#;

#[test]
fn users_of_a_file_are_reached_by_their_segment_and_wrong_lines_are_named() {
    let operator = Operator::with_database();
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    operator.write("users.jsonl", USERS);
    let import = ["directory", "import", "users.jsonl", "--segment", "customers"];
    for _ in 0..2 {
        let imported = operator.run(&import);
        assert!(imported.out.contains("put 2, refused 1"), "{imported:?}");
        let why = imported.failed(1);
        assert!(why.contains("line 3") && why.contains("`emial`"), "{why}");
    }
    let shown = operator.run(&["directory", "show", "u-1"]).succeeded();
    assert!(shown.contains("email: ann@example.com") && shown.contains("segments: customers"), "{shown}");

    let request = r#"{"id":"018f6b2e-0000-7000-8000-000000000001","requester":{"type":"service","id":"shop"},"recipients":[{"segment":"customers"}],"channels":["email"],"content":{"title":"t","body":"b"}}"#;
    operator.run_with(&["notify", "-"], request.as_bytes()).succeeded();
    let log = ["--set", "channels.default.provider=log"];
    operator.run(&[&HERE[..], &log, &["relay", "--until-empty"]].concat()).succeeded();
    let shown = operator.run(&["show", "018f6b2e-0000-7000-8000-000000000001"]).succeeded();
    assert!(shown.contains("1 delivered, 1 skipped"), "{shown}");

    operator.run(&["recipient", "erase", "user:u-1"]).succeeded();
    let why = operator.run(&["directory", "show", "u-1"]).failed(1);
    assert!(why.contains("does not know the user \"u-1\""), "{why}");
}

#[test]
fn a_file_of_columns_is_taken_and_a_field_too_many_is_named() {
    let operator = Operator::with_database();
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    operator
        .write("users.csv", "user,email,attributes.name\nu-3,bob@example.com,Bob\nu-5,a@example.com,A,x\n");
    let imported = operator.run(&["directory", "import", "users.csv"]);
    assert!(imported.out.contains("put 1, refused 1"), "{imported:?}");
    assert!(imported.failed(1).contains("line 3"));
    let shown = operator.run(&["directory", "show", "u-3"]).succeeded();
    assert!(shown.contains(r#"attributes: {"name":"Bob"}"#), "{shown}");
}
