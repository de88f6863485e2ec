use super::held_back::HeldBack;
use crate::config::RelayConfig;

/// How many messages of one ordering key a claim takes, where the store keeps their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FetchMode {
    /// Whole runs, and no more in all than this.
    KeyGroups(HeldBack),
    /// One at a time: enough is kept back already, and the rest of the room is for other keys.
    OneOfAKey,
}

impl FetchMode {
    /// What the next claim takes while so much is `kept` back; none if the stream has not met a run yet.
    ///
    /// All that a claim brings may be of one key. So it asks for what half of the room has left, or a slow key would fill all of
    /// it; and not for a few at a time, or a quick key would want a claim for each of its messages.
    pub(crate) fn with(kept: Option<HeldBack>, config: &RelayConfig) -> Self {
        let batch = config.batch.min(config.prefetch) as usize;
        let Some(kept) = kept else {
            return Self::KeyGroups(HeldBack { messages: batch, bytes: config.prefetch_bytes.bytes() });
        };
        let half = (config.prefetch as usize / 2).max(1);
        let messages = half.saturating_sub(kept.messages).min(batch);
        let bytes = (config.prefetch_bytes.bytes() / 2).max(1).saturating_sub(kept.bytes);
        match messages >= half.min(batch).div_ceil(2) && bytes > 0 {
            true => Self::KeyGroups(HeldBack { messages, bytes }),
            false => Self::OneOfAKey,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_back_is_never_more_than_half(
            batch in 1..50_u32, prefetch in 1..100_u32, messages in 0..100_usize, bytes in 0..100_usize,
        ) {
            let prefetch_bytes = claimstream_domain::ByteBudget::new(100).unwrap();
            let config = RelayConfig { batch, prefetch, prefetch_bytes, ..RelayConfig::default() };
            let kept = HeldBack { messages, bytes };
            if let FetchMode::KeyGroups(more) = FetchMode::with(Some(kept), &config) {
                prop_assert!(more.messages > 0 && more.bytes > 0);
                prop_assert!(messages + more.messages <= (prefetch as usize / 2).max(1));
                prop_assert!(bytes + more.bytes <= 50);
            }
            prop_assert_ne!(FetchMode::with(Some(HeldBack::default()), &config), FetchMode::OneOfAKey);
        }
    }
}
