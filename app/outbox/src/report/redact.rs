use std::{borrow::Cow, collections::HashSet};

use claimstream_domain::Reason;

/// A reason as a log may show it: without what it repeats of the message's payload.
///
/// An error's text often quotes what could not be read. Every run of [`RUN`] bytes or more that stands in the payload too is
/// replaced by `[payload]`; of a shorter payload, the whole of it. A reason that says the same in other words is shown.
pub(crate) fn shown<'a>(reason: &'a Reason, payload: &[u8]) -> Cow<'a, str> {
    let text = reason.as_str();
    let run = RUN.min(payload.len());
    if run < LEAST {
        return text.into();
    }
    let repeated = repeated(text.as_bytes(), payload, run);
    if repeated.contains(&true) { without(text, &repeated).into() } else { text.into() }
}

/// So many bytes in a row that are the same are no chance.
const RUN: usize = 12;

/// A payload shorter than this says nothing by itself, and its bytes stand in any text.
const LEAST: usize = 4;

/// Which bytes of `text` belong to a run that stands in `payload` too.
fn repeated(text: &[u8], payload: &[u8], run: usize) -> Vec<bool> {
    let sought: HashSet<&[u8]> = text.windows(run).collect();
    let found: HashSet<&[u8]> = payload.windows(run).filter(|window| sought.contains(window)).collect();
    let mut repeated = vec![false; text.len()];
    for (start, _) in text.windows(run).enumerate().filter(|(_, window)| found.contains(window)) {
        repeated[start..start + run].fill(true);
    }
    repeated
}

fn without(text: &str, repeated: &[bool]) -> String {
    let (mut shown, mut inside) = (String::with_capacity(text.len()), false);
    for (start, char) in text.char_indices() {
        let hidden = repeated[start..start + char.len_utf8()].contains(&true);
        match hidden {
            true if !inside => shown.push_str("[payload]"),
            true => {}
            false => shown.push(char),
        }
        inside = hidden;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: &str, payload: &str) -> String {
        shown(&Reason::new(reason), payload.as_bytes()).into_owned()
    }

    #[test]
    fn what_the_payload_says_is_left_out_and_nothing_else() {
        let payload = r#"{"to":"ada@example.com","text":"Grüße"}"#;
        assert_eq!(of("no such mailbox", payload), "no such mailbox");
        assert_eq!(of("no mailbox ada@example.com here", payload), "no mailbox [payload] here");
        assert_eq!(of(payload, payload), "[payload]");
        assert_eq!(of(&format!("bad: {payload}!"), payload), "bad: [payload]!");
        assert_eq!(of(r#""text":"Grüß"#, payload), "[payload]", "a character is left out whole");
    }

    #[test]
    fn a_payload_that_was_cut_with_the_reason_is_left_out() {
        let payload = "x1y2z3".repeat(200);
        assert_eq!(of(&format!("bad: {payload}"), &payload), "bad: [payload]");
    }

    #[test]
    fn a_short_payload_is_left_out_whole_and_a_few_bytes_are_no_secret() {
        assert_eq!(of("unknown code 4711", "4711"), "unknown code [payload]");
        assert_eq!(of("unknown code 4711", "471"), "unknown code 4711");
        assert_eq!(of("unknown code 4711", ""), "unknown code 4711");
    }
}
