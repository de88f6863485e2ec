//! The files of docs/deploying, as far as this program reads them and they have to agree with it.
//! Promise: the configuration, the commands, the probes and the grace periods of `docs/deploying` are those
//! of the program

use std::path::{Path, PathBuf};

use crate::operator::Operator;

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploying").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(place(name)).unwrap()
}

/// What follows each place where a line begins so, blanks apart.
fn after<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(start)).map(str::trim).collect()
}

fn seconds(text: &str, start: &str) -> u64 {
    let found = after(text, start);
    assert_eq!(found.len(), 1, "{start}: {found:?}");
    found[0].trim_matches(['"', 's']).parse().unwrap()
}

/// A program with the secrets that the configuration of a deployment names.
fn deployed() -> Operator {
    let operator = Operator::new();
    operator.write("database-password", "hunter2\n");
    let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    operator.write("tokens", format!("shop send,read sha256:{digest}\n"));
    operator
        .set("CLAIMSTREAM_DATABASE__PASSWORD_FILE", "database-password")
        .set("CLAIMSTREAM_SERVE__TOKENS_FILE", "tokens")
}

#[test]
fn the_configuration_of_a_deployment_is_taken() {
    let operator = deployed();
    let config = place("claimstream.toml");
    let config = config.to_str().unwrap();
    let printed = operator.run(&["config", "print", "--config", config]).succeeded();
    assert!(printed.contains("0.0.0.0:9464") && !printed.contains("hunter2"), "{printed}");
    // Its database is not here; everything else is as it must be.
    let examined = operator.run(&["doctor", "--config", config, "--database", "sqlite://no.db"]);
    for line in ["ok    channel                email smtp", "ok    serve"] {
        assert!(examined.out.contains(line), "{line}\n{}", examined.out);
    }
    assert_eq!(examined.out.matches("FAIL  ").count(), 1, "{}", examined.out);
}

#[test]
fn every_command_of_a_deployment_is_one_of_the_program() {
    let (unit, image, pods) = (text("claimstream.service"), text("Dockerfile"), text("kubernetes.yaml"));
    let mut commands: Vec<String> =
        after(&unit, "ExecStart=/usr/local/bin/claimstream").iter().map(|&line| line.to_owned()).collect();
    let lists = after(&image, "CMD").into_iter().chain(after(&pods, "args:"));
    let health = after(&image, "HEALTHCHECK")
        .into_iter()
        .filter_map(|line| line.split_once("CMD "))
        .map(|(_, list)| list);
    for list in lists.chain(health) {
        let words = list.trim_matches(['[', ']']).split(',').map(|word| word.trim().trim_matches('"'));
        let words: Vec<&str> = words.filter(|word| *word != "/usr/local/bin/claimstream").collect();
        commands.push(words.join(" "));
    }
    assert_eq!(commands.len(), 5, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let explained = deployed().run(&[&words[..], &["--help"]].concat()).succeeded();
        assert!(explained.contains(&format!("Usage: claimstream {}", words[0])), "{command}\n{explained}");
    }
}

#[test]
fn a_deployment_waits_longer_than_the_program_drains_and_probes_where_it_listens() {
    let config = text("claimstream.toml");
    let drains =
        after(&config, "drain =").into_iter().map(|drain| drain.trim_matches(['"', 's']).parse::<u64>());
    let longest = drains.map(Result::unwrap).max().unwrap();
    let last_writes = 2;
    let (unit, pods) = (text("claimstream.service"), text("kubernetes.yaml"));
    assert!(seconds(&unit, "TimeoutStopSec=") > longest + last_writes);
    assert!(seconds(&pods, "terminationGracePeriodSeconds:") > longest + last_writes);
    for port in ["8080", "9464"] {
        assert!(config.contains(&format!("listen = \"0.0.0.0:{port}\"")), "{port}");
        assert!(
            pods.contains(&format!("containerPort: {port}")) && text("Dockerfile").contains(port),
            "{port}"
        );
    }
    for probe in ["/healthz", "/readyz"] {
        assert!(pods.contains(&format!("path: {probe}, port: probes")), "{probe}");
    }
}
