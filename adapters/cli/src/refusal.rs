use std::{io::Write, process::ExitCode};

use crate::Exit;

/// Tells why arguments were refused, and answers the exit code; what may be a secret in them is not repeated.
///
/// Help and versions, which are no refusals, go to the standard output.
pub(crate) fn explain(refused: &clap::Error) -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let secrets: Vec<&str> = arguments.iter().filter_map(|argument| secret(argument)).collect();
    // The reader has closed the stream.
    let _ = match refused.use_stderr() && !secrets.is_empty() {
        true => write!(std::io::stderr(), "{}", without(secrets, refused.render().to_string())),
        false => refused.print(),
    };
    ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(Exit::NotUnderstood.code()))
}

/// What a refusal must not repeat of an argument: a place with a user's password, or the value of a secret.
fn secret(argument: &str) -> Option<&str> {
    let value = argument.split_once('=').filter(|_| argument.starts_with('-')).map_or(argument, |(_, v)| v);
    if value.contains(':') && value.contains('@') {
        return Some(value);
    }
    let assigned = argument.match_indices('=').find(|(at, _)| names_a_secret(&argument[..*at]));
    assigned.map(|(at, _)| &argument[at + 1..]).filter(|value| !value.is_empty())
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "secret", "token", "key"].iter().any(|word| name.contains(word))
}

fn without(mut secrets: Vec<&str>, text: String) -> String {
    // The longest first: one may be a part of another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.into_iter().fold(text, |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_what_follows_their_name_and_places_with_a_password() {
        for (argument, expected) in [
            ("relay", None),
            ("relay.batch=5", None),
            ("database.password=", None),
            ("database.password=a=b", Some("a=b")),
            ("--set=channels.sms.SECRET=x", Some("x")),
            ("--token=x", Some("x")),
            ("--databse=mysql://app:x@db/shop", Some("mysql://app:x@db/shop")),
            ("mysql://app:x@db/shop?ssl-key=y", Some("mysql://app:x@db/shop?ssl-key=y")),
            ("app:x@db/shop", Some("app:x@db/shop")),
            ("sqlite://shop.db", None),
        ] {
            assert_eq!(secret(argument), expected, "{argument}");
        }
    }

    #[test]
    fn no_part_of_a_longer_secret_is_left() {
        assert_eq!(without(vec!["abc", "abc-def"], "'abc-def' 'abc'".into()), "'***' '***'");
    }
}
