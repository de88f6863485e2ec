use crate::operator::Operator;

#[test]
fn shows_what_holds_and_where_it_was_set() {
    let operator =
        Operator::new().set("CLAIMSTREAM_RELAY__PREFETCH", "9").set("CLAIMSTREAM_CONFIG", "my.toml");
    operator.write(
        "my.toml",
        "[database]\nretention = 'keep 2d'\n[relay]\nbatch = 7\nprefetch = 8\n[channels.email]\nprovider = 'log'\n",
    );
    let printed =
        operator.run(&["config", "print", "--set", "relay.concurrency=3", "--strategy", "auto"]).succeeded();
    let holds = |line: &[&str]| {
        printed.lines().any(|printed| {
            printed.split("  ").filter(|part| !part.is_empty()).map(str::trim).eq(line.iter().copied())
        })
    };
    assert!(holds(&["retention = \"keep 2days\"", "# my.toml:2"]), "{printed}");
    assert!(holds(&["batch = 7", "# my.toml:4"]), "{printed}");
    assert!(holds(&["prefetch = 9", "# environment CLAIMSTREAM_RELAY__PREFETCH"]), "{printed}");
    assert!(holds(&["concurrency = 3", "# flag --set relay.concurrency"]), "{printed}");
    assert!(holds(&["strategy = \"auto\"", "# flag --strategy"]), "{printed}");
    assert!(holds(&["lease = \"30s\"", "# default"]), "{printed}");
    assert!(holds(&["provider = \"log\"", "# my.toml:7"]), "{printed}");
    assert!(holds(&["# url is not set", "# default"]), "{printed}");
}

#[test]
fn a_flag_in_front_of_the_command_and_one_behind_it_both_hold() {
    let operator = Operator::new();
    let set = ["--set", "relay.batch=7", "config", "print", "--set", "relay.idle_max=3s"];
    let printed = operator.run(&set).succeeded();
    for held in ["batch = 7", "idle_max = \"3s\""] {
        assert!(printed.lines().any(|line| line.trim().starts_with(held)), "{held} in {printed}");
    }
    operator.run(&["--strategy", "auto", "config", "print", "--strategy", "shard_lease"]).failed(2);
}

#[test]
fn what_is_printed_can_be_read_again() {
    let operator = Operator::new();
    let printed = operator.run(&["config", "print"]).succeeded();
    operator.write("claimstream.toml", &printed);
    let again = operator.run(&["config", "print"]).succeeded();
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split("  #").next().unwrap().trim().to_owned()).collect()
    };
    assert_eq!(values(&again), values(&printed));
}

#[test]
fn names_what_is_wrong_where_it_is_and_what_was_meant() {
    let operator = Operator::new().set("CLAIMSTREAM_DATABSE_URL", "x");
    operator.write("claimstream.toml", "[relay]\nbacth = 7\nlease = 'soon'\n[realy]\nbatch = 1\n");
    let wrong = operator.run(&["status", "--set", "log.levle=info"]).failed(2);
    for line in [
        "claimstream.toml:2: unknown key `relay.bacth`; did you mean `relay.batch`?",
        "claimstream.toml:3: `relay.lease`: \"soon\" is not a duration such as 500ms, 30s or 1d",
        "claimstream.toml:5: unknown key `realy.batch`; did you mean `relay.batch`?",
        "environment CLAIMSTREAM_DATABSE_URL: unknown key `CLAIMSTREAM_DATABSE_URL`; did you mean `CLAIMSTREAM_DATABASE_URL`?",
        "flag --set log.levle: unknown key `log.levle`; did you mean `log.level`?",
    ] {
        assert!(wrong.contains(line), "{line}\n{wrong}");
    }
}

#[test]
fn a_file_that_is_named_must_be_there_and_be_toml() {
    let operator = Operator::new();
    assert!(
        operator
            .run(&["status", "--config", "no.toml"])
            .failed(2)
            .contains("no.toml: the configuration cannot be read")
    );
    operator.write("bad.toml", "[relay\nbatch = 1");
    assert!(
        operator.run(&["status", "--config", "bad.toml"]).failed(2).contains("bad.toml:1: this is not TOML")
    );
    assert!(operator.run(&["status", "--set", "relay.batch"]).failed(2).contains("--set takes KEY=VALUE"));
    assert!(operator.run(&["status"]).failed(2).contains("`database.url` is not set"));
}
