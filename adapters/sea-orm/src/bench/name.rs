use uuid::Uuid;

/// The name of a bench's own database: the word of all benches, and the moment and number of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BenchName(String);

impl BenchName {
    const WORD: &'static str = "claimstream_bench_";

    /// The name of a new run.
    pub(super) fn fresh() -> Self {
        Self(format!("{}{}", Self::WORD, Uuid::now_v7().simple()))
    }

    /// A name that a run has made, and none that only begins like one: what bears it may be removed.
    pub(super) fn of(text: &str) -> Option<Self> {
        let number = text.strip_prefix(Self::WORD)?;
        let is_number = number.len() == 32
            && number.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
            && Uuid::parse_str(number).is_ok_and(|id| id.get_version_num() == 7);
        is_number.then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_run_makes_are_names_of_benches() {
        let fresh = BenchName::fresh();
        assert_eq!(BenchName::of(fresh.as_str()), Some(fresh.clone()));
        assert_ne!(fresh, BenchName::fresh());
        let upper = fresh.as_str().to_uppercase();
        let longer = format!("{}0", fresh.as_str());
        let of_version_4 = "claimstream_bench_67e5504410b1426f9247bb680e5fe0c8";
        for other in
            ["claimstream", "claimstream_bench_", "claimstream_bench_mine", &upper, &longer, of_version_4]
        {
            assert_eq!(BenchName::of(other), None, "{other}");
        }
    }
}
