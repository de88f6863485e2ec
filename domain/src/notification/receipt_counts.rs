use super::ReceiptKind;

/// Of how many messages providers said what. A message counts once for each kind that was said of it, so these numbers only grow while
/// the messages are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReceiptCounts([u64; ReceiptKind::ALL.len()]);

impl ReceiptCounts {
    /// Counts more messages of which this was said.
    pub fn count(&mut self, kind: ReceiptKind, messages: u64) {
        self.0[kind as usize] += messages;
    }

    /// Of how many messages this was said.
    pub fn of(&self, kind: ReceiptKind) -> u64 {
        self.0[kind as usize]
    }

    /// Each kind with its number, the strongest kind last.
    pub fn iter(&self) -> impl Iterator<Item = (ReceiptKind, u64)> {
        ReceiptKind::ALL.into_iter().zip(self.0)
    }

    /// Whether nothing was said of any message.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|messages| *messages == 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_kind_has_a_number_of_its_own(said in prop::collection::vec((0..7_usize, 0..9_u64), 0..20)) {
            let mut counts = ReceiptCounts::default();
            said.iter().for_each(|(kind, messages)| counts.count(ReceiptKind::ALL[*kind], *messages));
            for (place, (kind, messages)) in counts.iter().enumerate() {
                let of_kind = said.iter().filter(|(said, _)| *said == place);
                let expected: u64 = of_kind.map(|(_, messages)| messages).sum();
                prop_assert_eq!((kind, messages), (ReceiptKind::ALL[place], expected));
                prop_assert_eq!(counts.of(kind), expected);
            }
            prop_assert_eq!(counts.is_empty(), said.iter().all(|(_, messages)| *messages == 0));
        }
    }
}
