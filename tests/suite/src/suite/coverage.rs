use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::need::Need;

/// Which cases run somewhere, which were left out on a backend, and for want of what.
#[derive(Default)]
pub struct Coverage {
    backends: BTreeMap<(String, String), Row>,
    run: BTreeSet<Name>,
}

/// A case's topic and sentence.
type Name = (&'static str, &'static str);

#[derive(Default)]
struct Row {
    has: BTreeSet<Need>,
    left_out: BTreeMap<Need, BTreeSet<Name>>,
}

impl Coverage {
    /// Notes that a backend runs a case.
    pub fn note_run(&mut self, backend: (&str, &str), has: &[Need], case: Name) {
        self.row(backend, has);
        self.run.insert(case);
    }

    /// Notes that a backend does not run a case, and the need that it lacks.
    pub fn note_left_out(&mut self, backend: (&str, &str), has: &[Need], lacks: Need, case: Name) {
        self.row(backend, has).left_out.entry(lacks).or_default().insert(case);
    }

    fn row(&mut self, (store, strategy): (&str, &str), has: &[Need]) -> &mut Row {
        let row = self.backends.entry((store.to_owned(), strategy.to_owned())).or_default();
        row.has.extend(has);
        row
    }

    /// The stores on which cases were left out under every strategy, with the need that none of their backends has, and
    /// how many cases.
    pub fn missing_on_stores(&self) -> Vec<(&str, Need, usize)> {
        let mut has: BTreeMap<&str, BTreeSet<Need>> = BTreeMap::new();
        let mut left_out: BTreeMap<(&str, Need), BTreeSet<Name>> = BTreeMap::new();
        for ((store, _), row) in &self.backends {
            has.entry(store).or_default().extend(&row.has);
            for (need, cases) in &row.left_out {
                left_out.entry((store, *need)).or_default().extend(cases);
            }
        }
        let missing = left_out.into_iter().filter(|((store, need), _)| !has[store].contains(need));
        missing.map(|((store, need), cases)| (store, need, cases.len())).collect()
    }

    /// Needs that no backend has, and cases that no backend runs.
    pub fn gaps(&self) -> Vec<String> {
        let had = |need: &Need| self.backends.values().any(|row| row.has.contains(need));
        let needs = Need::ALL.into_iter().filter(|need| !had(need));
        let needs = needs.map(|need| format!("no backend has {}", need.name()));
        let left_out = self.backends.values().flat_map(|row| row.left_out.values()).flatten();
        let idle: BTreeSet<_> = left_out.filter(|case| !self.run.contains(*case)).collect();
        needs.chain(idle.iter().map(|(topic, name)| format!("no backend runs {topic}::{name}"))).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cases left out, by the need that the backend lacks:")?;
        for ((store, strategy), row) in &self.backends {
            let needs = row.left_out.iter().map(|(need, cases)| format!("{} {}", need.name(), cases.len()));
            writeln!(f, "{store} | {strategy} | {}", needs.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}
