//! Promise: templates go from a folder through the database to a mail, and no file is overwritten unless
//! asked

use crate::operator::Operator;

/// An author with a folder that has one template and one that it includes.
fn author() -> Operator {
    let author = Operator::with_database();
    for folder in ["order-paid", "footer"] {
        std::fs::create_dir_all(author.path("templates").join(folder)).unwrap();
    }
    let settings = "default_language = \"en\"\n";
    author.write("templates/footer/template.toml", settings);
    author.write("templates/footer/email.en.txt", "The shop\n");
    author.write("templates/order-paid/template.toml", format!("{settings}\n[variables.name]\n"));
    author.write("templates/order-paid/email.en.title.txt", "Paid\n");
    author.write("templates/order-paid/email.en.txt", "Thank you, {{ name }}!\n{% include \"footer\" %}\n");
    author.write(
        "templates/order-paid/email.de.txt",
        "Danke, {{ name }} aus {{ recipient.attributes.city | default(\"?\") }}!\n",
    );
    author
}

const HERE: [&str; 2] = ["--set", "templates.source=database"];

fn request(id: u32, params: &str) -> String {
    let id = format!("018f6b2e-0000-7000-8000-{id:012}");
    format!(
        r#"{{"id":"{id}","requester":{{"type":"service","id":"shop"}},"recipients":[{{"email":"ann@example.com"}}],"channels":["email"],"template":{{"id":"order-paid","params":{params}}}}}"#
    )
}

#[test]
fn a_template_goes_from_a_folder_to_a_mail() {
    let author = author();
    let preview = ["templates", "preview", "order-paid", "--channel", "email", "--param", "name=Ann"];
    let shown = author.run(&[&preview[..], &["--folder", "templates"]].concat()).succeeded();
    assert_eq!(shown, "--- title\nPaid\n--- body\nThank you, Ann!\nThe shop\n");
    let german =
        [&preview[..], &["--folder", "templates", "--language", "de-AT", "--attribute", "city=Bonn"]];
    assert!(author.run(&german.concat()).succeeded().contains("Danke, Ann aus Bonn!"));

    let pushed = author.run(&["templates", "push"]).succeeded();
    assert!(pushed.contains("order-paid: draft kept, revision 1"), "{pushed}");
    assert!(
        pushed.contains("order-paid: cannot be published yet: ") && pushed.contains("\"footer\""),
        "{pushed}"
    );
    let published = author.run(&["templates", "publish", "--all"]).succeeded();
    assert_eq!(published, "footer: version 1 published\norder-paid: version 1 published\n");
    let again = author.run(&["templates", "push"]).succeeded();
    assert!(again.contains("order-paid: unchanged, revision 1"), "{again}");
    assert!(author.run(&preview).succeeded().contains("Thank you, Ann!\nThe shop"));
    let listed = author.run(&["templates", "list"]).succeeded();
    assert!(listed.contains("order-paid") && listed.contains("version 1"), "{listed}");

    author.write("requests.jsonl", request(1, r#"{"name":"Ann"}"#));
    let set = ["--set", "channels.email.provider=log", "--set", "channels.email.show_content=true"];
    let file = ["--set", "channels.email.file=mail.jsonl"];
    author.run(&[&["notify", "requests.jsonl"], &HERE[..]].concat()).succeeded();
    author.run(&[&["relay", "--until-empty"], &HERE[..], &set[..], &file[..]].concat()).succeeded();
    let mail = author.lines("mail.jsonl").join("");
    assert!(mail.contains("Thank you, Ann!\\nThe shop"), "{mail}");
}

#[test]
fn a_request_that_its_template_cannot_carry_out_is_refused_by_its_line() {
    let author = author();
    author.run(&["templates", "push"]).succeeded();
    author.run(&["templates", "publish", "--all"]).succeeded();
    let good = request(1, r#"{"name":"Ann"}"#);
    author.write(
        "requests.jsonl",
        format!(
            "{good}\n{}\n{}\n{}\n",
            request(2, "{}"),
            request(3, r#"{"name":"a","nmae":"b"}"#),
            request(4, "{}").replace("order-paid", "order-piad")
        ),
    );
    let ended = author.run(&[&["notify", "requests.jsonl"], &HERE[..]].concat());
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(1), "new 1, replayed 0, in conflict 0, refused 3\n"),
        "{ended:?}"
    );
    for why in [
        "line 2: the template \"order-paid\" needs a value for \"name\"",
        "line 3: the template \"order-paid\" has no variable \"nmae\"",
        "line 4: there is no template \"order-piad\"",
    ] {
        assert!(ended.err.contains(why), "{}", ended.err);
    }
    // The template changes, and what was taken in before counts as replayed.
    author.write(
        "templates/order-paid/template.toml",
        "default_language = \"en\"\n[variables.name]\n[variables.sum]\n",
    );
    author.run(&["templates", "push"]).succeeded();
    author.run(&["templates", "publish", "order-paid"]).succeeded();
    author.write("requests.jsonl", good);
    let again = author.run(&[&["notify", "requests.jsonl"], &HERE[..]].concat()).succeeded();
    assert_eq!(again, "new 0, replayed 1, in conflict 0, refused 0\n");
}

#[test]
fn a_folder_and_the_database_are_compared_and_nothing_is_overwritten_unasked() {
    let author = author();
    assert_eq!(author.run(&["templates", "diff"]).code, Some(1));
    author.run(&["templates", "push"]).succeeded();
    assert_eq!(author.run(&["templates", "diff"]).succeeded(), "");
    author.write("templates/order-paid/email.en.title.txt", "Really paid\n");
    let changed = author.run(&["templates", "diff"]);
    assert_eq!(
        (changed.code, changed.out.as_str()),
        (Some(1), "order-paid/email.en.title.txt\n- Paid\n+ Really paid\n")
    );
    let refused = author.run(&["templates", "pull"]);
    assert!(refused.code == Some(1) && refused.err.contains("--force overwrites"), "{refused:?}");
    author.run(&["templates", "pull", "--force", "--only", "order-paid"]).succeeded();
    assert_eq!(author.lines("templates/order-paid/email.en.title.txt"), ["Paid"]);
    author.run(&["templates", "pull", "elsewhere"]).succeeded();
    assert_eq!(author.run(&["templates", "diff", "elsewhere"]).code, Some(0));
}

#[test]
fn a_version_is_taken_back_by_publishing_an_older_one_again() {
    let author = author();
    author.run(&["templates", "push", "--only", "footer"]).succeeded();
    author.run(&["templates", "publish", "footer"]).succeeded();
    author.write("templates/footer/email.en.txt", "The new shop\n");
    author.run(&["templates", "push", "--only", "footer"]).succeeded();
    author.run(&["templates", "publish", "footer"]).succeeded();
    let back = author.run(&["templates", "publish", "footer", "--number", "1"]).succeeded();
    assert_eq!(back, "footer: version 3 says what version 1 said\n");
    let shown =
        author.run(&["templates", "preview", "footer", "--channel", "email", "--number", "3"]).succeeded();
    assert_eq!(shown, "--- body\nThe shop\n");
}

#[test]
fn a_mistake_is_named_with_its_file_and_nothing_is_pushed() {
    let author = author();
    author.write("templates/order-paid/email.en.text", "x");
    let refused = author.run(&["templates", "push"]);
    assert!(
        refused.code == Some(1) && refused.err.contains("order-paid/email.en.text: name it"),
        "{refused:?}"
    );
    assert_eq!(author.run(&["templates", "list", "--json"]).succeeded(), "{\"items\":[],\"next\":null}\n");
    std::fs::remove_file(author.path("templates/order-paid/email.en.text")).unwrap();
    author.write("templates/order-paid/email.en.txt", "a\n{% block x %}\n");
    let refused = author.run(&["templates", "push"]);
    assert!(
        refused.err.contains("order-paid: ") && refused.err.contains("email, en, body: line 2: "),
        "{refused:?}"
    );
    let old = r#"{"default_language":"en","templates":[{"id":"old","channel":"email","language":"en","body":"a {{ first-name }}"}]}"#;
    author.write("templates.json", old);
    let relay = author.run(&[
        "relay",
        "--until-empty",
        "--set",
        "channels.default.provider=log",
        "--set",
        "notifications.templates=templates.json",
    ]);
    assert!(
        relay.code == Some(2) && relay.err.contains("line 1: {{ first-name }} is no plain name"),
        "{relay:?}"
    );
}
