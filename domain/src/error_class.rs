use std::fmt;

use crate::Reason;

/// The kind of error that a [`Reason`] describes: the reason without that which differs from message to message.
///
/// Words with digits and addresses become `#`, so that `user u-17 timed out after 30012 ms` and `user u-18 timed out after 30007 ms`
/// are of one class. A number from 100 to 599 stays: it may be the status that a server has answered.
///
/// ```
/// use claimstream_domain::{ErrorClass, Reason};
///
/// let class = ErrorClass::of(&Reason::new("503 from 10.0.0.7:8080 for ann@example.com"));
/// assert_eq!(class.as_str(), "503 from #:# for #");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ErrorClass(Box<str>);

impl ErrorClass {
    /// The longest class, in characters.
    pub const MAX_CHARS: usize = 120;

    /// The class of a reason.
    pub fn of(reason: &Reason) -> Self {
        let mut class = String::new();
        let mut rest = reason.as_str();
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c| is_inside(c) != is_inside(first)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            class.push_str(if is_inside(first) && differs(word) { "#" } else { word });
            rest = after;
        }
        Self(class.chars().take(Self::MAX_CHARS).collect::<String>().into())
    }

    /// The class as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character belongs to a word, an id or an address.
fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || "@._+-%".contains(c)
}

fn differs(word: &str) -> bool {
    let is_status =
        word.len() == 3 && ("100"..="599").contains(&word) && word.bytes().all(|b| b.is_ascii_digit());
    word.contains('@') || (word.chars().any(char::is_numeric) && !is_status)
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn class(reason: &str) -> String {
        ErrorClass::of(&Reason::new(reason)).to_string()
    }

    #[test]
    fn what_differs_from_message_to_message_is_left_out() {
        assert_eq!(class("user u-17 timed out after 30012 ms"), class("user u-18 timed out after 7 ms"));
        assert_eq!(class("no such order 01890a5d-ac96-774b-bcce-b302099a8057"), "no such order #");
        assert_eq!(class("mailbox <ann@example.com> is full"), "mailbox <#> is full");
        assert_eq!(class("550 5.1.1 unknown"), "550 # unknown");
        assert_ne!(class("answered 503"), class("answered 404"));
        assert_eq!(class("answered 600, 099 and 5000"), "answered #, # and #");
        assert_eq!(class("no connection. None"), "no connection. None");
        assert_eq!(class(""), "");
    }

    proptest! {
        #[test]
        fn the_class_of_a_class_is_itself_and_short(reason in ".{0,200}") {
            let class = ErrorClass::of(&Reason::new(&reason));
            prop_assert!(class.as_str().chars().count() <= ErrorClass::MAX_CHARS);
            prop_assert_eq!(ErrorClass::of(&Reason::new(&class)), class);
        }

        #[test]
        fn a_number_that_is_no_status_tells_no_two_apart(one in 600_u64.., other in 600_u64..) {
            prop_assert_eq!(class(&format!("order {one} failed")), class(&format!("order {other} failed")));
        }
    }
}
