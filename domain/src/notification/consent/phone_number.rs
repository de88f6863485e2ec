use super::mail_address::is_unseen;
use crate::Invalid;

/// The most digits of a number (ITU-T E.164).
const MOST_DIGITS: usize = 15;

/// A phone number without what only makes it readable: with its country's code it is that of E.164, such as `+491701234567`.
///
/// `tel:` goes, `00` before a country's code becomes `+`, and the zero of `+49 (0)170`, which is dialled within the country alone, goes. A number without a country's
/// code stays as it is: which country it is of is not known here. A text without a digit is no number, and stays.
pub(super) fn phone_number(text: &str) -> String {
    if !text.contains(|c: char| digit(c).is_ascii_digit()) {
        return text.to_owned();
    }
    let seen = text.chars().filter(|c| !is_unseen(*c) && !c.is_whitespace()).map(digit);
    let seen: String = seen.collect();
    let mut number = seen.split(';').next().unwrap_or_default();
    while let Some((_, rest)) =
        number.split_at_checked(4).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("tel:"))
    {
        number = rest;
    }
    let is_international = number.starts_with('+') || number.starts_with("00");
    let number = if is_international { number.replacen("(0)", "", 1) } else { number.to_owned() };
    let number: String = number.chars().filter(|c| !is_layout(*c)).collect();
    match number.strip_prefix("00") {
        Some(rest) if rest.starts_with(|c: char| ('1'..='9').contains(&c)) => format!("+{rest}"),
        _ => number,
    }
}

/// Refuses what no number is, with a reason that leaves it out.
pub(super) fn check(text: &str) -> Result<(), Invalid> {
    let refused =
        |why: &str| Invalid::Malformed { what: "phone", why: format!("{why}; write it like +491701234567") };
    let number = phone_number(text.trim());
    let digits = number.strip_prefix('+').unwrap_or(&number);
    match digits.len() {
        _ if !digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(refused("it has other characters than those of a number"))
        }
        0 => Err(refused("it has no digit")),
        1..=MOST_DIGITS => Ok(()),
        _ => Err(refused("it has more than 15 digits")),
    }
}

/// The digit or the plus sign that a wide character is.
fn digit(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' => char::from_u32(u32::from(c) - 0xff10 + 0x30).unwrap_or(c),
        '\u{ff0b}' => '+',
        _ => c,
    }
}

/// Whether a character only makes a number readable: dashes of any kind, and punctuation.
fn is_layout(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}') || "()./".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_with_its_countrys_code_is_that_of_e_164() {
        for text in [
            "+49 (0)170 123-4567",
            "+49 (0) 170/1234567",
            "0049 170 1234567",
            "tel:+49-170-1234567;ext=5",
            "TEL:+49.170.1234567",
            "+49\u{a0}170\t1234567",
            "\u{202a}+49\u{2011}170\u{2013}1234567\u{202c}",
            "\u{ff0b}\u{ff14}9 170 1234567",
        ] {
            assert_eq!(phone_number(text), "+491701234567", "{text:?}");
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
        assert_eq!(phone_number("(0170) 123 45"), "017012345");
        assert_eq!(phone_number("short"), "short");
    }

    #[test]
    fn what_is_no_number_is_refused_with_the_reason_and_without_it() {
        for (text, why) in [
            ("", "no digit"),
            ("+", "no digit"),
            ("ann@example.com", "other characters"),
            ("+49 170 CALL", "other characters"),
            ("++49170", "other characters"),
            ("+4917012345678901", "more than 15"),
        ] {
            let refused = check(text).unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains("+491701234567"), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn a_number_that_was_respelled_stays(text in "(tel:|TEL:){0,2}[+0-9()a\u{ff10}\u{200b} ;./-]{0,14}") {
            let once = phone_number(&text);
            prop_assert_eq!(phone_number(&once), once);
        }
    }
}
