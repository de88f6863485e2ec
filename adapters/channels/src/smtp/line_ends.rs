/// The text with CRLF at the end of every line and without NUL, as a mail must have it (RFC 5321, section 2.3.8).
pub(super) fn normalised(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "");
    text.replace('\n', "\r\n")
}

/// Whether a mail has no bare CR, no bare LF and no NUL. To a server that takes a bare one for the end of a line, a mail can hold
/// another mail.
pub(super) fn are_sound(mail: &[u8]) -> bool {
    let before = |n: usize| n.checked_sub(1).and_then(|n| mail.get(n));
    mail.iter().enumerate().all(|(n, byte)| match byte {
        b'\r' => mail.get(n + 1) == Some(&b'\n'),
        b'\n' => before(n) == Some(&b'\r'),
        byte => *byte != 0,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bare_end_of_a_line_is_found() {
        for sound in ["", "a", "a\r\n", "\r\n\r\n.\r\n"] {
            assert!(are_sound(sound.as_bytes()), "{sound:?}");
        }
        for unsound in ["\n", "\r", "a\r.\r\n", "\n\r", "\r\r\n", "a\0b", "a\r\n\n"] {
            assert!(!are_sound(unsound.as_bytes()), "{unsound:?}");
        }
    }

    proptest! {
        #[test]
        fn a_normalised_text_is_sound_and_stays_so(text in "[a.\r\n\0]{0,12}") {
            let normal = normalised(&text);
            prop_assert!(are_sound(normal.as_bytes()));
            prop_assert_eq!(normalised(&normal), normal);
        }
    }
}
