use std::str::FromStr;

use claimstream_domain::{Invalid, notification::ReceiptKind};

/// What the words of a provider mean, such as `Delivery=delivered, Bounce/HardBounce=bounced, Bounce/*=soft_bounced`.
///
/// The words stand as the pointers to them do, with `/` between them. `*` is any word, and words that are not named may be any. The first
/// rule that fits decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptKinds(Vec<Rule>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    words: Vec<String>,
    kind: ReceiptKind,
}

impl ReceiptKinds {
    /// The longest rule, in words.
    pub(crate) fn longest(&self) -> usize {
        self.0.iter().map(|rule| rule.words.len()).max().unwrap_or(0)
    }

    /// What these words mean; `None` if no rule fits, as for events that no rule asks for.
    pub(crate) fn of(&self, words: &[Option<String>]) -> Option<ReceiptKind> {
        let fits = |rule: &&Rule| {
            let mut pairs = rule.words.iter().zip(words);
            words.first().is_some_and(Option::is_some)
                && pairs.all(|(asked, given)| asked == "*" || Some(asked) == given.as_ref())
        };
        self.0.iter().find(fits).map(|rule| rule.kind)
    }
}

impl FromStr for ReceiptKinds {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rules = text.split(',').map(str::trim).filter(|rule| !rule.is_empty());
        let rules = rules.map(rule).collect::<Result<Vec<_>, _>>()?;
        match rules.is_empty() {
            true => Err(Invalid::Empty { what: "kinds of receipts" }),
            false => Ok(Self(rules)),
        }
    }
}

fn rule(text: &str) -> Result<Rule, Invalid> {
    let (words, kind) = text.rsplit_once('=').ok_or_else(|| Invalid::Malformed {
        what: "kinds of receipts",
        why: format!("{text:?} is not like Bounce/HardBounce=bounced"),
    })?;
    let words = words.split('/').map(|word| word.trim().to_owned()).collect();
    Ok(Rule { words, kind: kind.trim().parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides() {
        use ReceiptKind::{Bounced, Delivered, SoftBounced};
        let kinds: ReceiptKinds =
            "Delivery=delivered, Bounce/HardBounce=bounced,Bounce/*=soft_bounced".parse().unwrap();
        let of = |words: [Option<&str>; 2]| kinds.of(&words.map(|word| word.map(str::to_owned)));
        assert_eq!(of([Some("Delivery"), None]), Some(Delivered));
        assert_eq!(of([Some("Delivery"), Some("x")]), Some(Delivered));
        assert_eq!(of([Some("Bounce"), Some("HardBounce")]), Some(Bounced));
        assert_eq!(of([Some("Bounce"), None]), Some(SoftBounced));
        assert_eq!((of([Some("Click"), None]), of([None, Some("HardBounce")])), (None, None));
        assert_eq!(kinds.longest(), 2);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_right_form() {
        let why = |text: &str| text.parse::<ReceiptKinds>().unwrap_err().to_string();
        assert!(why("Bounce").contains("Bounce/HardBounce=bounced"));
        assert!(why("a=hard").contains("soft_bounced"));
        assert!(why(" , ").contains("kinds of receipts"));
    }
}
