use super::ProviderName;
use crate::Reason;

/// Providers that may have accepted a message, as the reason says it for which the message is tried again.
///
/// The log of attempts says it as a rule. Where that could not be written, the reason is what the next attempt still reads, in whatever
/// process.
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
        let said = reason.and_then(|reason| reason.as_str().strip_prefix(Self::BEGIN)?.split_once(Self::END));
        let names = said.into_iter().flat_map(|(names, _)| names.split(", "));
        Self::of(names.filter_map(|name| name.parse().ok()))
    }

    /// Adds providers, each once.
    pub fn add(&mut self, providers: impl IntoIterator<Item = ProviderName>) {
        for provider in providers {
            if !self.0.contains(&provider) {
                self.0.push(provider);
            }
        }
    }

    /// The reason, which says it as well.
    pub fn mark(&self, reason: Reason) -> Reason {
        let names: Vec<&str> = self.0.iter().map(ProviderName::as_str).collect();
        match names.is_empty() || Self::in_reason(Some(&reason)) == *self {
            true => reason,
            false => Reason::new(format_args!("{}{}{}{reason}", Self::BEGIN, names.join(", "), Self::END)),
        }
    }

    /// The providers.
    pub fn into_providers(self) -> Vec<ProviderName> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ordinary_reason_says_nothing_and_stays_as_it_is() {
        for said in ["", "HTTP 504", "may have been accepted by nobody", "may have been accepted by A B; c"] {
            let reason = Reason::new(said);
            assert_eq!(Doubt::in_reason(Some(&reason)), Doubt::default());
            assert_eq!(Doubt::default().mark(reason.clone()), reason);
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
            prop_assert_eq!(doubt.mark(marked.clone()), marked);
        }
    }
}
