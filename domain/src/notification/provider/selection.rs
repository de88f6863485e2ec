use crate::pace::mix;

/// In which order the providers of a channel are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Selection {
    /// As they are listed.
    #[default]
    InOrder,
    /// Drawn by their weights, each message for itself; the same message always in the same order.
    ByWeight,
}

/// What follows when a provider may have accepted a message and has not said so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AfterUnknown {
    /// Only that provider is asked again, at a later attempt: it knows the message's id and may recognise it.
    #[default]
    RetrySame,
    /// The next provider is asked at once; the recipient may get the message twice.
    Failover,
}

impl Selection {
    /// The order in which providers with these weights are asked.
    ///
    /// By weight, each place is drawn among those that are left, in proportion to their weights. A provider of weight 0 comes
    /// after all others.
    pub fn order(self, weights: &[u32], seed: u64) -> Vec<usize> {
        let mut left: Vec<usize> = (0..weights.len()).collect();
        if self == Self::InOrder {
            return left;
        }
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let drawn = draw(&left, weights, seed.wrapping_add(order.len() as u64));
            order.push(left.remove(drawn));
        }
        order
    }
}

/// The place in `left` that the seed draws.
fn draw(left: &[usize], weights: &[u32], seed: u64) -> usize {
    let weight = |at: &usize| u64::from(weights[*at]);
    let all: u64 = left.iter().map(weight).sum();
    let mut rest = (u128::from(mix(seed)) * u128::from(all)) >> 64;
    let drawn = left.iter().position(|at| match rest < u128::from(weight(at)) {
        true => true,
        false => {
            rest -= u128::from(weight(at));
            false
        }
    });
    drawn.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn every_provider_is_asked_once_and_the_same_message_in_the_same_order(
            weights in vec(0..5_u32, 0..6), seed in any::<u64>(),
        ) {
            for selection in [Selection::InOrder, Selection::ByWeight] {
                let order = selection.order(&weights, seed);
                prop_assert_eq!(&order, &selection.order(&weights, seed));
                let mut sorted = order.clone();
                sorted.sort_unstable();
                prop_assert!(sorted.into_iter().eq(0..weights.len()));
            }
        }

        #[test]
        fn a_provider_without_weight_stands_by(seed in any::<u64>()) {
            prop_assert_eq!(Selection::ByWeight.order(&[0, 3, 1], seed)[2], 0);
        }
    }

    #[test]
    fn shares_follow_the_weights() {
        let firsts = (0..40_000_u64).map(|seed| Selection::ByWeight.order(&[1, 3], seed)[0]);
        let second = firsts.filter(|first| *first == 1).count();
        assert!((29_400..=30_600).contains(&second), "{second}");
    }

    #[test]
    fn a_list_is_an_order() {
        assert_eq!(Selection::InOrder.order(&[1, 9, 5], 3), [0, 1, 2]);
    }
}
