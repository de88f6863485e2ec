//! Runs schedules of the simulator: one with its trace, or many with figures.
//!
//! `cargo run -p claimstream-simulator -- --world saga --seed 123` shows one;
//! `cargo run --release -p claimstream-simulator -- --schedules 5000000` counts many.
#![forbid(unsafe_code)]

use std::{process::ExitCode, time::Instant};

use claimstream_simulator::{Mishap, Schedule, World};

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)) {
        Ok(options) => options.run(),
        Err(why) => {
            eprintln!("simulator: {why}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "usage: claimstream-simulator [--world NAME] (--seed SEED | --schedules COUNT [--first SEED] [--threads COUNT])";

struct Options {
    worlds: Vec<World>,
    seed: Option<u64>,
    schedules: u64,
    first: u64,
    threads: u64,
}

impl Options {
    fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options =
            Self { worlds: World::ALL.to_vec(), seed: None, schedules: 10_000, first: 1, threads: 1 };
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{name} needs a number, not {value:?}"));
            match name.as_str() {
                "--world" => options.worlds = vec![value.parse()?],
                "--seed" => options.seed = Some(number()?),
                "--schedules" => options.schedules = number()?,
                "--first" => options.first = number()?,
                "--threads" => options.threads = number()?.max(1),
                _ => return Err(format!("{name} is not an option")),
            }
        }
        Ok(options)
    }

    fn run(&self) -> ExitCode {
        match self.seed {
            Some(seed) => self.show(seed),
            None => self.count(),
        }
    }

    /// Runs one seed in each world, with its trace.
    fn show(&self, seed: u64) -> ExitCode {
        let mut code = ExitCode::SUCCESS;
        for &world in &self.worlds {
            let outcome = Schedule { world, seed, sabotage: None }.run_traced();
            print!("{}", outcome.trace);
            match outcome.failure {
                Some(why) => {
                    println!("{world}, seed {seed}: {why}");
                    code = ExitCode::FAILURE;
                }
                None => println!(
                    "{world}, seed {seed}: every promise held ({} polls, {:?})",
                    outcome.polls, outcome.time
                ),
            }
        }
        code
    }

    /// Runs as many schedules as were asked for, in equal parts in each world.
    fn count(&self) -> ExitCode {
        let each = self.schedules.div_ceil(self.worlds.len() as u64);
        let (mut mishaps, mut failures, mut total, begun) = ([0; Mishap::COUNT], 0, 0, Instant::now());
        for &world in &self.worlds {
            let begun = Instant::now();
            let parts: Vec<Part> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..self.threads).map(|n| scope.spawn(move || self.part(world, each, n))).collect();
                threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
            });
            let seconds = begun.elapsed().as_secs_f64();
            let schedules: u64 = parts.iter().map(|part| part.schedules).sum();
            let polls: u64 = parts.iter().map(|part| part.polls).sum();
            let rate = schedules as f64 / seconds / self.threads as f64;
            println!(
                "{world}: {schedules} schedules, {rate:.0} a second and thread, {} polls each",
                polls / schedules.max(1)
            );
            for part in parts {
                failures += part.failures;
                mishaps.iter_mut().zip(part.mishaps).for_each(|(all, some)| *all += some);
            }
            total += schedules;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let rate = total as f64 / seconds / self.threads as f64;
        println!(
            "{total} schedules in {seconds:.1} s, {rate:.0} a second and thread; {failures} broke a promise"
        );
        for (mishap, count) in Mishap::ALL.iter().zip(mishaps) {
            println!("{count:>12} {}", mishap.name());
        }
        if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// The schedules of one thread.
    fn part(&self, world: World, each: u64, thread: u64) -> Part {
        let mut part = Part::default();
        for seed in (self.first..self.first + each).skip(thread as usize).step_by(self.threads as usize) {
            let schedule = Schedule { world, seed, sabotage: None };
            let outcome = schedule.run();
            part.schedules += 1;
            part.polls += u64::from(outcome.polls);
            part.mishaps.iter_mut().zip(outcome.mishaps).for_each(|(all, some)| *all += some);
            if let Some(why) = outcome.failure {
                part.failures += 1;
                if part.failures <= 5 {
                    println!("{why}\n    {}", schedule.command());
                }
            }
        }
        part
    }
}

#[derive(Default)]
struct Part {
    schedules: u64,
    failures: u64,
    polls: u64,
    mishaps: [u64; Mishap::COUNT],
}
