use super::ProviderName;
use crate::Reason;

/// Providers that may have accepted a message, as the reason says it for which the message is tried again.
///
/// The log of attempts says it as a rule. Where that could not be written, the reason is what later attempts still read, in whatever
/// process: each verdict on the message [keeps](crate::Verdict::keeping) it, and so does a revival.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doubt(Vec<ProviderName>);

impl Doubt {
    const BEGIN: &str = "may have been accepted by ";
    const END: &str = "; ";

    /// These providers are in doubt.
    pub fn of(providers: impl IntoIterator<Item = ProviderName>) -> Self {
        let mut doubt = Self::default();
        doubt.add(providers);
        doubt
    }

    /// What a reason says; nothing for all others.
    pub fn in_reason(reason: Option<&Reason>) -> Self {
        let said = reason.and_then(|reason| Self::split(reason.as_str()));
        let names = said.into_iter().flat_map(|(names, _)| names.split(", "));
        Self::of(names.filter_map(|name| name.parse().ok()))
    }

    fn split(reason: &str) -> Option<(&str, &str)> {
        reason.strip_prefix(Self::BEGIN)?.split_once(Self::END)
    }

    /// The reason of a dead letter that its revival keeps: one that says so of any provider.
    pub fn kept(reason: &Reason) -> Option<Reason> {
        let is_kept = Self::in_reason(Some(reason)) != Self::default();
        is_kept.then(|| reason.clone())
    }

    /// Adds providers, each once.
    pub fn add(&mut self, providers: impl IntoIterator<Item = ProviderName>) {
        for provider in providers {
            if !self.0.contains(&provider) {
                self.0.push(provider);
            }
        }
    }

    /// The reason, which says it as well as what it said before.
    pub fn mark(&self, reason: Reason) -> Reason {
        let said = Self::in_reason(Some(&reason));
        let mut all = said.clone();
        all.add(self.0.iter().cloned());
        if all == said {
            return reason;
        }
        let rest = match said == Self::default() {
            true => reason.as_str(),
            false => Self::split(reason.as_str()).map_or("", |(_, rest)| rest),
        };
        let names: Vec<&str> = all.0.iter().map(ProviderName::as_str).collect();
        Reason::new(format_args!("{}{}{}{rest}", Self::BEGIN, names.join(", "), Self::END))
    }

    /// The providers.
    pub fn providers(&self) -> &[ProviderName] {
        &self.0
    }
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
            let doubt = Doubt::of(names.iter().map(|name| ProviderName::new(name).unwrap()));
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
            let of = |names: &[String]| Doubt::of(names.iter().map(|name| ProviderName::new(name).unwrap()));
            let twice = of(&other).mark(of(&one).mark(Reason::new(&said)));
            prop_assert_eq!(Doubt::in_reason(Some(&twice)), of(&[one, other].concat()));
            prop_assert!(twice.as_str().ends_with(&said));
            prop_assert!(twice.as_str().matches(Doubt::BEGIN).count() <= 1);
        }
    }
}
