use crate::Invalid;

/// How many bytes of payloads may be in hand at a time; 64 MiB by default.
///
/// One message may pass beyond it whatever it weighs, or it could never be handled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteBudget(usize);

impl ByteBudget {
    /// Takes a number of bytes, at least 1.
    pub fn new(bytes: usize) -> Result<Self, Invalid> {
        match bytes {
            0 => Err(Invalid::OutOfRange {
                what: "byte budget",
                given: "0".into(),
                allowed: "at least 1".into(),
            }),
            bytes => Ok(Self(bytes)),
        }
    }

    /// The bytes.
    pub fn bytes(self) -> usize {
        self.0
    }

    /// This budget, or `bytes` if that is less; at least 1.
    pub fn lowered_to(self, bytes: usize) -> Self {
        Self(self.0.min(bytes).max(1))
    }

    /// How many of the first of these payloads fit together with the bytes `in_hand` already; the first fits in any case if
    /// nothing is in hand.
    pub fn fitting(self, in_hand: Option<usize>, payloads: impl IntoIterator<Item = usize>) -> usize {
        let mut total = in_hand.unwrap_or_default();
        let fits = |(n, payload): &(usize, usize)| {
            total = total.saturating_add(*payload);
            total <= self.0 || (*n == 0 && in_hand.is_none())
        };
        payloads.into_iter().enumerate().take_while(fits).count()
    }

    /// The rest of the budget after the bytes in hand; at least 1, so that one message passes.
    pub fn less(self, in_hand: usize) -> Self {
        Self(self.0.saturating_sub(in_hand).max(1))
    }
}

impl Default for ByteBudget {
    fn default() -> Self {
        Self(64 << 20)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_passes_whatever_it_weighs() {
        let budget = ByteBudget::new(10).unwrap();
        assert_eq!(budget.fitting(None, [11, 1]), 1);
        assert_eq!(budget.fitting(None, [4, 6, 1]), 2);
        assert_eq!(budget.fitting(Some(0), [11, 1]), 0);
        assert_eq!(budget.fitting(Some(7), [3, 1]), 1);
        assert_eq!(budget.less(10).bytes(), 1);
        assert!(ByteBudget::new(0).is_err());
    }

    proptest! {
        #[test]
        fn what_fits_is_within_the_budget_and_one_more_is_not(
            budget in 1..100_usize,
            in_hand in prop::option::of(0..120_usize),
            payloads in prop::collection::vec(0..60_usize, 0..10),
        ) {
            let fitting = ByteBudget(budget).fitting(in_hand, payloads.iter().copied());
            let total = |n: usize| in_hand.unwrap_or_default() + payloads[..n].iter().sum::<usize>();
            prop_assert!(fitting == 0 || total(fitting) <= budget || (fitting == 1 && in_hand.is_none()));
            prop_assert!(fitting == payloads.len() || total(fitting + 1) > budget);
        }
    }
}
