use crate::{
    operator::{Operator, id, request},
    server::Server,
};

const SECRET: &str = "hunter2-correct-horse";

/// The secret in every form it could slip out in.
fn is_in(text: &str) -> bool {
    // As SMTP sends it: NUL user NUL password, in base64; its middle does not depend on what stands around it.
    let encoded = ["aHVudGVyMi1jb3JyZWN0", "h1bnRlcjItY29ycmVjdC", "odW50ZXIyLWNvcnJlY3Qt"];
    text.contains(SECRET) || encoded.iter().any(|part| text.contains(part))
}

#[track_caller]
fn stays_hidden(operator: &Operator, arguments: &[&str]) {
    let ended = operator.run(&[arguments, &["--log-level", "trace"]].concat());
    assert!(!is_in(&ended.out) && !is_in(&ended.err), "{arguments:?}: {ended:?}");
}

#[test]
fn never_leave_the_program_while_it_works() {
    let (gateway, mail) = (Server::answering(200), Server::mail());
    let operator = Operator::with_database().set("SMTP_PASSWORD", SECRET);
    operator.write("key", format!("{SECRET}\n"));
    operator.write(
        "claimstream.toml",
        format!(
            "[channels.email]\nprovider = 'smtp'\nserver = 'smtp://{}'\nfrom = 'a@b.example'\nuser = 'u'\n\
         password_env = 'SMTP_PASSWORD'\n[channels.sms]\nprovider = 'webhook'\nurl = 'http://{}/{SECRET}'\n\
         secret_file = 'key'\nproxy = false\n[channels.webhook]\nprovider = 'webhook'\nsecret = '{SECRET}'\n",
            mail.address(),
            gateway.address()
        ),
    );
    operator.run_with(&["notify", "-"], request(1, "\"email\",\"sms\"").as_bytes()).succeeded();
    stays_hidden(&operator, &["config", "print"]);
    stays_hidden(&operator, &["doctor"]);
    stays_hidden(&operator, &["relay", "--until-empty"]);
    stays_hidden(&operator, &["show", &id(1)]);
    assert!(operator.run(&["show", &id(1)]).succeeded().contains("2 delivered"));
    assert!(gateway.received().contains(SECRET) && is_in(&mail.received()), "the secrets were used");
}

#[test]
fn of_the_database_are_in_no_error() {
    let url = format!("mysql://app:{SECRET}@127.0.0.1:1/shop");
    let operator = Operator::new().set("CLAIMSTREAM_DATABASE__ACQUIRE_TIMEOUT", "1s");
    for url in [
        url.clone(),
        url.replace("mysql", "mariadb"),
        url.replace("mysql", "postgres"),
        url.replace(":1/", ":x/"),
        url.replace("/shop", ""),
        url.replace('@', "/@"),
        format!("app:{SECRET}@db/shop"),
        SECRET.into(),
    ] {
        for command in [&["status"][..], &["config", "print"], &["doctor"], &["relay"]] {
            stays_hidden(&operator, &[command, &["--database", &url]].concat());
        }
    }
    stays_hidden(&operator, &["status", &url]);
    stays_hidden(&operator, &["status", &format!("--databse={url}")]);
    stays_hidden(&operator, &["show", &url]);
    stays_hidden(&operator, &["status", &format!("app:{SECRET}@db/shop")]);
    let reached = operator.run(&["status", "--database", &url]).failed(1);
    assert!(reached.starts_with("error: cannot open mysql://app:***@127.0.0.1:1/shop: "), "{reached}");
}

#[test]
fn in_a_file_that_cannot_be_read_are_not_repeated() {
    let operator = Operator::new();
    for broken in [format!("[database]\npassword = '{SECRET}"), format!("[database]\npassword = {SECRET}")] {
        operator.write("claimstream.toml", broken);
        stays_hidden(&operator, &["status"]);
    }
    operator
        .write("claimstream.toml", format!("[database]\npasword = '{SECRET}'\npassword = ['{SECRET}']\n"));
    stays_hidden(&operator, &["status"]);
    stays_hidden(&operator, &["status", "--set", SECRET]);
}

#[test]
fn are_not_repeated_where_a_flag_was_forgotten() {
    let operator = Operator::new();
    for name in
        ["database.password", "channels.sms.SECRET", "token", "channels.webhook.key", "set=database.password"]
    {
        for argument in [format!("{name}={SECRET}"), format!("--{name}={SECRET}")] {
            stays_hidden(&operator, &["relay", &argument]);
            stays_hidden(&operator, &["show", &argument]);
        }
    }
    let slip = operator.run(&["relay", &format!("database.password={SECRET}")]).failed(2);
    assert!(slip.contains("database.password=***"), "{slip}");
}
