use crate::{Invalid, Shard, ShardCount};

/// More shards for queues that are at work: their number grows by a whole factor, so that each old shard keeps a part of its keys and
/// gives the others to new shards of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resharding {
    from: ShardCount,
    to: ShardCount,
}

impl Resharding {
    /// Refuses a number that is no multiple of the old one, or not greater than it, with the numbers that would do.
    pub fn new(from: ShardCount, to: ShardCount) -> Result<Self, Invalid> {
        if to.get() > from.get() && to.get().is_multiple_of(from.get()) {
            return Ok(Self { from, to });
        }
        Err(Invalid::OutOfRange {
            what: "the new number of shards",
            given: to.get().to_string(),
            allowed: allowed(from),
        })
    }

    /// How many shards there are.
    pub fn from(self) -> ShardCount {
        self.from
    }

    /// How many there will be.
    pub fn to(self) -> ShardCount {
        self.to
    }

    /// The new shards to which an old one gives keys.
    pub fn heirs(self, old: Shard) -> impl Iterator<Item = Shard> {
        let step = usize::from(self.from.get());
        (old.number()..self.to.get()).step_by(step).skip(1).map(Shard::from_number)
    }

    /// Where messages of an ordering key move that lie in `shard`; `None` if they stay.
    pub fn target(self, shard: Shard, key: &[u8]) -> Option<Shard> {
        let target = self.to.shard_of_bytes(key);
        (target != shard).then_some(target)
    }
}

/// The numbers that would do, in words.
fn allowed(from: ShardCount) -> String {
    let from = from.get();
    let counts: Vec<String> = (2..=ShardCount::MAX / from).map(|n| (n * from).to_string()).collect();
    let all = match &counts[..] {
        [] => return format!("left at {from}, because a queue has at most {} shards", ShardCount::MAX),
        [one] => one.clone(),
        [first @ .., last] if first.len() < 5 => format!("{} or {last}", first.join(", ")),
        [first, second, third, .., last] => format!("{first}, {second}, {third} and so on, up to {last}"),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    };
    format!("a multiple of {from}: {all}")
}

#[cfg(test)]
mod tests {
    //! Promise: an unsuitable number of shards is refused with the suitable ones
    use super::*;

    fn count(n: u16) -> ShardCount {
        ShardCount::new(n).unwrap()
    }

    fn refused(from: u16, to: u16) -> String {
        Resharding::new(count(from), count(to)).unwrap_err().to_string()
    }

    #[test]
    fn each_key_stays_or_moves_to_an_heir_of_its_old_shard() {
        let resharding = Resharding::new(count(16), count(64)).unwrap();
        let heirs: Vec<u16> = resharding.heirs(Shard::from_number(3)).map(Shard::number).collect();
        assert_eq!(heirs, [19, 35, 51]);
        for n in 0..1_000 {
            let key = format!("customer-{n}");
            let old = count(16).shard_of_bytes(key.as_bytes());
            let new = resharding.target(old, key.as_bytes()).unwrap_or(old);
            assert_eq!(new, count(64).shard_of_bytes(key.as_bytes()));
            assert!(new == old || resharding.heirs(old).any(|heir| heir == new), "{key}");
        }
    }

    #[test]
    fn a_number_that_would_not_do_is_refused_with_those_that_would() {
        assert_eq!(
            refused(16, 60),
            "the new number of shards is 60, it must be a multiple of 16: 32, 48, 64 and so on, up to 256"
        );
        assert!(refused(64, 16).ends_with("a multiple of 64: 128, 192 or 256"));
        assert!(refused(16, 16).contains("32, 48, 64"));
        assert!(refused(100, 150).ends_with("a multiple of 100: 200"));
        assert!(refused(200, 201).ends_with("left at 200, because a queue has at most 256 shards"));
    }
}
