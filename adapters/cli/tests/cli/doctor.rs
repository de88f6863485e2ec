//! Promise: `doctor --strict` can pass on every database, and examines notifications only where they are used

use crate::operator::{Operator, request};

#[test]
fn sums_up_and_fails_where_it_should() {
    let operator = Operator::with_database();
    let good = operator.run(&["doctor"]).succeeded();
    assert!(good.lines().last().unwrap().ends_with("0 warnings, 0 failures"), "{good}");
    assert!(good.contains("ok    schema") && good.contains("ok    processes"), "{good}");
    let groups: Vec<&str> =
        good.lines().filter(|line| ["outbox", "notifications", "serve"].contains(line)).collect();
    assert_eq!(groups, ["outbox", "notifications"]);
    operator.run(&["doctor", "--strict"]).succeeded();
    let warned = ["doctor", "--set", "channels.sms.provider=log"];
    assert!(operator.run(&warned).succeeded().ends_with(", 0 failures\n"));
    assert_eq!(operator.run(&[&warned[..], &["--strict"]].concat()).code, Some(1));
}

#[test]
fn warns_of_notification_settings_only_where_notifications_are_used() {
    let operator = Operator::with_database();
    let unused = operator.run(&["doctor"]).succeeded();
    assert!(unused.contains("ok    notifications          not used: "), "{unused}");
    assert!(unused.ends_with(" 0 warnings, 0 failures\n"), "{unused}");

    let set = operator.run(&["doctor", "--set", "channels.sms.provider=log"]).succeeded();
    assert!(set.contains("ok    channel                sms log"), "{set}");
    assert!(set.contains("warn  channel                email none") && !set.contains("not used"), "{set}");
    let set = operator.run(&["doctor", "--set", "notifications.chunk=7"]).succeeded();
    assert!(set.contains("warn  directory"), "{set}");

    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let used = operator.run(&["doctor"]).succeeded();
    for line in ["warn  directory", "warn  templates", "warn  channel                email none"] {
        assert!(used.contains(line), "{line}\n{used}");
    }
}

#[test]
fn a_service_that_uses_one_channel_and_says_so_passes_strictly() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let mut settings = vec![
        ("channels.email.provider=log", "email log to the standard output"),
        ("directory.source=none", "none, as set: only recipients with an address of their own are reached"),
        ("templates.source=none", "none, as set"),
    ];
    let off = ["sms", "push", "webhook", "chat", "in_app"].map(|channel| {
        let says = format!("{channel} none, as set: messages on this channel are refused for good");
        (format!("channels.{channel}.provider=none"), says)
    });
    settings.extend(off.iter().map(|(set, says)| (&**set, &**says)));
    let strict = |settings: &[(&str, &str)]| {
        let set = settings.iter().flat_map(|(set, _)| ["--set", set]);
        operator.run(&["doctor", "--strict"].into_iter().chain(set).collect::<Vec<_>>())
    };
    let passed = strict(&settings);
    assert!(passed.code == Some(0) && passed.out.contains(" 0 warnings, 0 failures\n"), "{passed:?}");
    for (_, says) in &settings {
        assert!(passed.out.contains(says), "{says}\n{}", passed.out);
    }
    for (at, (set, _)) in settings.iter().enumerate().filter(|(at, _)| *at > 0) {
        let mut others = settings.clone();
        others.remove(at);
        let refused = strict(&others);
        let (key, value) = set.split_once('=').unwrap();
        assert!(refused.code == Some(1) && refused.out.contains(" 1 warning, 0 failures\n"), "{refused:?}");
        assert!(refused.out.contains(&format!("if that is meant, set {key} = \"{value}\"")), "{refused:?}");
    }
    // Such a relay delivers, and the settings for all channels decide nothing about one.
    operator.run(&["relay", "--until-empty", "--set", settings[0].0, "--set", settings[1].0]).succeeded();
    let all = strict(&[("channels.default.provider=none", "")]);
    assert!(all.code == Some(1) && all.out.contains("warn  channel                email none"), "{all:?}");
}

#[test]
fn looks_at_the_configuration_too() {
    let operator = Operator::with_database();
    operator.write("directory.json", r#"{"users":[{"mail":"x"}]}"#);
    operator.write("claimstream.toml", "[notifications]\ndirectory = 'directory.json'\n[channels.default]\nprovider = 'log'\n\
        [channels.webhook]\nprovider = 'webhook'\n[channels.sms]\nprovider = 'webhook'\nurl = 'https://h.example/x'\n\
        secret_file = 'no'\n");
    let ended = operator.run(&["doctor"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for line in [
        "FAIL  directory              `notifications.directory`: the file directory.json cannot be used",
        "FAIL  channel                `channels.sms.secret`: the file no cannot be read",
        "warn  channel                webhook webhook: messages are not signed",
        "ok    channel                email log to the standard output",
    ] {
        assert!(ended.out.contains(line), "{line}\n{}", ended.out);
    }
}

#[test]
fn a_database_that_is_not_there_is_a_failure() {
    let ended = Operator::new().run(&["doctor"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.ends_with(", 1 failure\n"), "{ended:?}");
    assert!(ended.out.contains("FAIL  database               `database.url` is not set"), "{ended:?}");
}

/// What `serve --relay` refuses to start with, `doctor` finds.
#[test]
fn finds_what_serve_refuses_to_start_with() {
    let operator = Operator::with_database();
    for (settings, says) in [
        (&["notifications.unsubscribe_key=short"][..], "`notifications.unsubscribe_key`"),
        (&["notifications.unsubscribe_url=https://shop.example/u/"], "set notifications.unsubscribe_key too"),
        (&["serve.inbox_key=short"], "`serve.inbox_key`"),
    ] {
        let set: Vec<&str> = settings.iter().flat_map(|one| ["--set", one]).collect();
        let serve =
            ["serve", "--relay", "--set", "serve.anonymous=true", "--set", "channels.default.provider=log"];
        let serve = [&serve[..], &set].concat();
        let refused = operator.run(&serve).failed(2);
        assert!(refused.contains(says), "{refused}");
        let doctor = ["doctor", "--set", "serve.anonymous=true"];
        let examined = operator.run(&[&doctor[..], &set].concat());
        assert!(examined.code == Some(1) && examined.out.contains(says), "{examined:?}");
    }
    let key = format!("notifications.unsubscribe_key={}", "k".repeat(32));
    let set = ["doctor", "--set", &key, "--set", "notifications.unsubscribe_url=https://shop.example/u/"];
    let good = operator.run(&set).succeeded();
    assert!(good.contains("ok    unsubscribing          messages carry signed links"), "{good}");
}
