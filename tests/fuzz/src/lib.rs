//! Random bytes for everything of Claimstream that reads what others wrote.
//!
//! A target is a function that must not panic for any bytes, nor break what it asserts. Two programs call it: `claimstream-fuzz`, which mutates
//! seeds for some seconds by any compiler, and `libfuzzer`, which follows the coverage by a nightly one.
#![forbid(unsafe_code)]

// What reads foreign bytes is private in its crate. Its files are compiled here once more, so that no crate shows more than its users need.
#[cfg(feature = "brokers")]
#[path = "../../../adapters/brokers/src/parts.rs"]
mod parts;

mod generator;
mod head;
mod targets;

pub use generator::Generator;
pub use targets::TARGETS;

/// What reads foreign bytes, and bytes that it reads well.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Reads bytes, and says whether they were accepted. A panic is a fault.
    pub run: fn(&[u8]) -> bool,
    /// Inputs that mutation begins with.
    pub seeds: &'static [&'static [u8]],
}

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_accepted() {
        let all = TARGETS.iter().flat_map(|target| target.seeds.iter().map(move |seed| (target, seed)));
        let refused = all.filter(|(target, seed)| !(target.run)(seed));
        let refused: Vec<_> =
            refused.map(|(target, seed)| (target.name, String::from_utf8_lossy(seed))).collect();
        assert!(refused.is_empty(), "{refused:#?}");
    }
}
