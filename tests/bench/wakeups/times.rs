use std::{
    collections::HashMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Microseconds since 1970, by the clock that all processes of a machine share.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or_default()
}

/// When something was done with each message, by its number.
#[derive(Default)]
pub(crate) struct Moments(HashMap<u64, i64>);

impl Moments {
    /// Takes lines with a number and a moment each; of a message that came twice the first counts.
    pub(crate) fn note(&mut self, line: &str) {
        let read = line.split_once(' ').and_then(|(n, at)| Some((n.parse().ok()?, at.parse().ok()?)));
        if let Some((number, at)) = read {
            self.0.entry(number).or_insert(at);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// How long each message took from these moments to the others, the shortest first. One that the relay had before the answer
    /// to its commit took no time.
    pub(crate) fn until(&self, later: &Self) -> Vec<Duration> {
        let took = |(number, at): (&u64, &i64)| {
            let micros = later.0.get(number)?.saturating_sub(*at);
            Some(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
        };
        let mut times: Vec<_> = self.0.iter().filter_map(took).collect();
        times.sort_unstable();
        times
    }
}
