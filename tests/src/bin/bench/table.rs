use std::{collections::BTreeMap, fmt};

use crate::{Failure, Options, contender::Contender, round::Outcome};

/// The figures, by number of instances and contender.
pub(crate) struct Table {
    head: String,
    cells: BTreeMap<(usize, Contender), Vec<Outcome>>,
    refused: BTreeMap<Contender, String>,
}

impl Table {
    pub(crate) fn new(server: &str, options: &Options) -> Self {
        let head = format!(
            "{server}\nbacklog {}, batch {}, payload {} bytes, {} rounds interleaved, every instance a process\n\
             ratio = median against the median of ceilxr with as many instances, in this run",
            options.backlog, options.batch, options.payload, options.rounds
        );
        Self { head, cells: BTreeMap::new(), refused: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, contender: Contender, instances: usize, outcome: Outcome) {
        self.cells.entry((instances, contender)).or_default().push(outcome);
    }

    pub(crate) fn refuse(&mut self, contender: Contender, why: &str) {
        self.refused.insert(contender, why.to_owned());
    }

    /// Fails if anything was lost or doubled, or if nothing was measured.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        let wrong: usize = self.cells.values().flatten().map(|cell| cell.lost + cell.duplicates).sum();
        match (self.cells.is_empty(), wrong) {
            (true, _) => Err("nothing was measured".into()),
            (false, 0) => Ok(()),
            (false, wrong) => Err(format!("{wrong} messages were lost or doubled").into()),
        }
    }

    fn ceiling(&self, instances: usize) -> Option<f64> {
        self.cells.get(&(instances, Contender::Ceilxr)).map(|cells| median(cells))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}\n", self.head)?;
        writeln!(
            f,
            "{:>9}  {:<18} {:>12} {:>21} {:>6} {:>9} {:>10} {:>10} {:>5}",
            "instances",
            "contender",
            "messages/s",
            "min - max",
            "ratio",
            "deadlocks",
            "duplicates",
            "superseded",
            "lost"
        )?;
        for ((instances, contender), cells) in &self.cells {
            let rates = cells.iter().map(|cell| cell.rate);
            let (min, max) = (rates.clone().fold(f64::MAX, f64::min), rates.fold(0.0, f64::max));
            let ratio =
                self.ceiling(*instances).map_or_else(String::new, |c| format!("{:.2}", median(cells) / c));
            writeln!(
                f,
                "{instances:>9}  {contender:<18} {:>12.0} {:>21} {ratio:>6} {:>9} {:>10} {:>10} {:>5}",
                median(cells),
                format!("{min:.0} - {max:.0}"),
                cells.iter().map(|cell| cell.deadlocks).sum::<u64>(),
                cells.iter().map(|cell| cell.duplicates).sum::<usize>(),
                cells.iter().map(|cell| cell.superseded).sum::<usize>(),
                cells.iter().map(|cell| cell.lost).sum::<usize>(),
            )?;
        }
        self.refused.iter().try_for_each(|(contender, why)| writeln!(f, "{contender}: {why}"))
    }
}

fn median(cells: &[Outcome]) -> f64 {
    let mut rates: Vec<f64> = cells.iter().map(|cell| cell.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}
