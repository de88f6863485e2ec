use std::process::Stdio;

use crate::operator::{Operator, Running};

#[cfg(unix)]
#[test]
fn ends_quietly_when_its_output_is_closed() {
    let operator = Operator::new();
    for arguments in [&["schema", "print", "--dialect", "mysql"][..], &["--help"], &["config", "print"]] {
        let mut command = operator.command(arguments);
        let log = std::fs::File::create(operator.path("err")).unwrap();
        let mut running = Running(command.stdout(Stdio::piped()).stderr(log).spawn().unwrap());
        drop(running.0.stdout.take());
        assert_eq!(running.end().code(), Some(0), "{arguments:?}");
        assert_eq!(operator.lines("err"), Vec::<String>::new(), "{arguments:?}");
    }
}

#[test]
fn help_is_a_result_and_a_slip_is_an_error() {
    let operator = Operator::new();
    let help = operator.run(&["--help"]).succeeded();
    assert!(help.contains("Exit codes: 0 done") && help.contains("CLAIMSTREAM_DATABASE__URL"), "{help}");
    let help = operator.run(&["--help", "--set", "database.password_env=NAME"]).succeeded();
    assert!(help.contains("Exit codes: 0 done"), "{help}");
    assert!(operator.run(&["--version"]).succeeded().starts_with("claimstream "));
    let slip = operator.run(&["stats"]);
    assert_eq!(slip.out, "");
    assert!(slip.failed(2).contains("'status'"));
    assert_eq!(operator.run(&[]).code, Some(2));
}

#[test]
fn has_no_colours_where_no_terminal_reads() {
    let operator = Operator::with_database();
    let ended = operator.run(&["doctor", "--log-level", "trace"]);
    let slip = operator.run(&["stats"]);
    assert!(![&ended.out, &ended.err, &slip.err].iter().any(|text| text.contains('\u{1b}')));
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_refused_in_order() {
    use std::os::unix::ffi::OsStrExt;

    let operator = Operator::new();
    let mut command = operator.command(&["status"]);
    let ended = command.arg(std::ffi::OsStr::from_bytes(b"sto\xffck")).output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{err}");
    assert!(err.starts_with("error: ") && !err.contains("panicked"), "{err}");
}
