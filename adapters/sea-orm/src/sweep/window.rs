use uuid::Uuid;

/// As many ids as a sweep holds at a time, in order, and which of them are live.
#[derive(Clone)]
pub(super) struct Window {
    size: usize,
    ids: Vec<Uuid>,
    live: Vec<bool>,
}

impl Window {
    /// About four megabytes. All live messages are read once for each window.
    pub(super) const SIZE: usize = 250_000;

    pub(super) fn of(size: usize) -> Self {
        Self { size, ids: Vec::new(), live: Vec::new() }
    }

    /// How many more it takes.
    pub(super) fn room(&self) -> usize {
        self.size.saturating_sub(self.ids.len())
    }

    pub(super) fn newest(&self) -> Option<Uuid> {
        self.ids.last().copied()
    }

    /// Adds ids that follow those which are here.
    pub(super) fn add(&mut self, ids: Vec<Uuid>) {
        self.live.resize(self.ids.len() + ids.len(), false);
        self.ids.extend(ids);
    }

    /// Notes that a message is live, whether it is here or not.
    pub(super) fn strike(&mut self, live: Uuid) {
        if let Ok(n) = self.ids.binary_search(&live) {
            self.live[n] = true;
        }
    }

    /// The others.
    pub(super) fn rest(self) -> Vec<Uuid> {
        self.ids.into_iter().zip(self.live).filter_map(|(id, live)| (!live).then_some(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::btree_set, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn what_is_not_live_is_left(
            pages in btree_set(0..200_u128, 0..60), cut in 0..60_usize, live in btree_set(0..200_u128, 0..60),
        ) {
            let ids: Vec<Uuid> = pages.iter().copied().map(Uuid::from_u128).collect();
            let (one, other) = ids.split_at(cut.min(ids.len()));
            let mut window = Window::of(60);
            window.add(one.to_vec());
            window.add(other.to_vec());
            prop_assert_eq!(window.newest(), ids.last().copied());
            prop_assert_eq!(window.room(), 60 - ids.len());
            live.iter().for_each(|id| window.strike(Uuid::from_u128(*id)));
            let rest: BTreeSet<u128> = window.rest().into_iter().map(|id| id.as_u128()).collect();
            prop_assert_eq!(rest, &pages - &live);
        }
    }
}
