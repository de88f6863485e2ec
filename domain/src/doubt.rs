use crate::Reason;

/// The names of those that may have accepted a message, as the reason says it for which the message is tried again.
///
/// It is what later attempts read, in whatever process, where nothing else could be written: each verdict on the message
/// [keeps](crate::Verdict::keeping) it, and so does a revival. A name has lower-case letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doubt(Vec<Box<str>>);

impl Doubt {
    const BEGIN: &str = "may have been accepted by ";
    const END: &str = "; ";

    /// These may have accepted it. What is no name is left out.
    pub fn of<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut doubt = Self::default();
        doubt.add(names);
        doubt
    }

    /// What a reason says; nothing for all others.
    pub fn in_reason(reason: Option<&Reason>) -> Self {
        let said = reason.and_then(|reason| Self::split(reason.as_str()));
        let names = said.into_iter().flat_map(|(names, _)| names.split(", "));
        Self::of(names)
    }

    fn split(reason: &str) -> Option<(&str, &str)> {
        reason.strip_prefix(Self::BEGIN)?.split_once(Self::END)
    }

    /// The reason of a dead letter that its revival keeps: one that names any.
    pub fn kept(reason: &Reason) -> Option<Reason> {
        let is_kept = Self::in_reason(Some(reason)) != Self::default();
        is_kept.then(|| reason.clone())
    }

    /// Adds names, each once.
    pub fn add<N: AsRef<str>>(&mut self, names: impl IntoIterator<Item = N>) {
        for name in names {
            let name = name.as_ref();
            if is_name(name) && !self.0.iter().any(|known| **known == *name) {
                self.0.push(name.into());
            }
        }
    }

    /// The reason, which says it as well as what it said before.
    pub fn mark(&self, reason: Reason) -> Reason {
        let said = Self::in_reason(Some(&reason));
        let mut all = said.clone();
        all.add(&self.0);
        if all == said {
            return reason;
        }
        let rest = match said == Self::default() {
            true => reason.as_str(),
            false => Self::split(reason.as_str()).map_or("", |(_, rest)| rest),
        };
        Reason::new(format_args!("{}{}{}{rest}", Self::BEGIN, all.0.join(", "), Self::END))
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

fn is_name(name: &str) -> bool {
    const MAX_BYTES: usize = 64;
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (1..=MAX_BYTES).contains(&name.len()) && !name.starts_with(['-', '_']) && name.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ordinary_reason_says_nothing_and_stays_as_it_is() {
        for said in ["", "HTTP 504", "may have been accepted by no one", "may have been accepted by A B; c"] {
            let reason = Reason::new(said);
            assert_eq!(Doubt::in_reason(Some(&reason)), Doubt::default());
            assert_eq!(Doubt::default().mark(reason.clone()), reason);
            assert_eq!(Doubt::kept(&reason), None);
        }
        assert_eq!(Doubt::in_reason(None), Doubt::default());
    }

    proptest! {
        #[test]
        fn what_a_reason_says_is_read_again(
            names in prop::collection::vec("[a-z0-9][a-z0-9_-]{0,20}", 1..5), said in ".{0,600}",
        ) {
            let doubt = Doubt::of(&names);
            let marked = doubt.mark(Reason::new(said));
            prop_assert_eq!(Doubt::in_reason(Some(&marked)), doubt.clone());
            prop_assert_eq!(doubt.mark(marked.clone()), marked.clone());
            prop_assert_eq!(Doubt::kept(&marked), Some(marked));
        }

        #[test]
        fn a_reason_that_is_marked_twice_says_both(
            one in prop::collection::vec("[a-z]{1,3}", 0..4), other in prop::collection::vec("[a-z]{1,3}", 0..4),
            said in "[a-z ]{0,30}",
        ) {
            let of = |names: &[String]| Doubt::of(names);
            let twice = of(&other).mark(of(&one).mark(Reason::new(&said)));
            prop_assert_eq!(Doubt::in_reason(Some(&twice)), of(&[one, other].concat()));
            prop_assert!(twice.as_str().ends_with(&said));
            prop_assert!(twice.as_str().matches(Doubt::BEGIN).count() <= 1);
        }
    }
}
