//! Promise: completions and manual pages name every command

use crate::operator::Operator;

#[test]
fn completions_name_every_command_whatever_the_configuration_says() {
    let operator = Operator::new().set("CLAIMSTREAM_RELAY__BATCH", "many");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = operator.run(&["completions", shell]).succeeded();
        for command in ["notify", "healthcheck", "purge", "--until-empty"] {
            assert!(script.contains(command.trim_start_matches('-')), "{shell} lacks {command}");
        }
    }
    assert!(operator.run(&["completions", "cmd"]).failed(2).contains("possible values"));
}

#[test]
fn a_shell_reads_the_script() {
    let operator = Operator::new();
    operator.write("claimstream.bash", operator.run(&["completions", "bash"]).succeeded());
    let mut shell = std::process::Command::new("bash");
    let Ok(ended) = shell.arg("-n").arg(operator.path("claimstream.bash")).output() else {
        return println!("there is no bash here");
    };
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let operator = Operator::new();
    let said = operator.run(&["man", "pages"]).succeeded();
    assert_eq!(said, "the manual pages are in pages\n");
    let page = |name: &str| std::fs::read_to_string(operator.path("pages").join(name)).unwrap();
    assert!(page("claimstream.1").contains("claimstream\\-dead"), "{}", page("claimstream.1"));
    assert!(page("claimstream-dead-purge.1").contains("\\-\\-yes"), "{}", page("claimstream-dead-purge.1"));
    operator.write("file", "");
    assert!(operator.run(&["man", "file"]).failed(1).contains("cannot be written to file"));
}
