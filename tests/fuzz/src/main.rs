//! Feeds random inputs to what reads foreign bytes.
//!
//! ```text
//! claimstream-fuzz [--seconds N] [--seed N] [--show] [TARGET...]    N seconds for each target, 10 unless said; all targets unless named
//! claimstream-fuzz --hex BYTES TARGET                               one input, such as one that has failed
//! claimstream-fuzz --list                                           the targets
//! ```
//!
//! The same seed makes the same inputs in the same order. `--show` prints each before it is read, for a fault that ends the process.
#![forbid(unsafe_code)]

use std::{
    collections::VecDeque,
    env,
    fmt::Write,
    panic,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use claimstream_fuzz::{Generator, TARGETS, Target};

fn main() -> ExitCode {
    match Options::read(env::args().skip(1).collect()) {
        Ok(options) => options.run(),
        Err(why) => {
            eprintln!("claimstream-fuzz: {why}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    targets: Vec<&'static Target>,
    time: Duration,
    seed: u64,
    show: bool,
    input: Option<Vec<u8>>,
    list: bool,
}

impl Options {
    fn read(mut arguments: VecDeque<String>) -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut options = Self {
            targets: Vec::new(),
            time: Duration::from_secs(10),
            seed: now.as_secs(),
            show: false,
            input: None,
            list: false,
        };
        while let Some(argument) = arguments.pop_front() {
            let mut value = || arguments.pop_front().ok_or_else(|| format!("{argument} needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|why| format!("{text:?}: {why}"));
            match argument.as_str() {
                "--seconds" => options.time = Duration::from_secs(number(value()?)?),
                "--seed" => options.seed = number(value()?)?,
                "--hex" => {
                    options.input = Some(bytes(&value()?).ok_or("--hex needs pairs of hexadecimal digits")?)
                }
                "--show" => options.show = true,
                "--list" => options.list = true,
                name => options
                    .targets
                    .push(Target::named(name).ok_or_else(|| format!("no target is named {name:?}"))?),
            }
        }
        if options.targets.is_empty() {
            options.targets = TARGETS.iter().collect();
        }
        Ok(options)
    }

    fn run(self) -> ExitCode {
        if self.list {
            self.targets.iter().for_each(|target| println!("{}", target.name));
            return ExitCode::SUCCESS;
        }
        if let Some(input) = &self.input {
            for target in &self.targets {
                let accepted = if (target.run)(input) { "accepted" } else { "refused" };
                println!("{}: {accepted}", target.name);
            }
            return ExitCode::SUCCESS;
        }
        let failed = self.targets.iter().filter(|target| !self.feed(target)).count();
        println!("{} targets, {failed} failed", self.targets.len());
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Feeds a target until its time is over or an input has failed; whether none has.
    fn feed(&self, target: &'static Target) -> bool {
        let (time, seed, show) = (self.time, self.seed, self.show);
        let current = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&current);
        let (tell, ended) = mpsc::channel();
        let work = move || {
            let mut generator = Generator::new(seed, target.seeds);
            let (start, mut inputs, mut accepted) = (Instant::now(), 0_u64, 0_u64);
            // Seeds as they are come first.
            let mut seeds = target.seeds.iter();
            while start.elapsed() < time {
                let input = seeds.next().map_or_else(|| generator.next_input(), |seed| seed.to_vec());
                if show {
                    println!("{} {}", target.name, hex(&input));
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&input);
                let Ok(is_accepted) = panic::catch_unwind(|| (target.run)(&input)) else { break };
                inputs += 1;
                accepted += u64::from(is_accepted);
            }
            let _ = tell.send((inputs, accepted, start.elapsed() >= time));
        };
        thread::spawn(work);
        // An input that is read for a minute is read for ever.
        let result = ended.recv_timeout(time + Duration::from_secs(60));
        match result {
            Ok((inputs, accepted, true)) => {
                println!("{}: {inputs} inputs, {accepted} accepted, seed {seed}", target.name)
            }
            Ok((inputs, _, false)) => println!("{}: FAILED after {inputs} inputs, seed {seed}", target.name),
            Err(_) => println!("{}: FAILED: an input takes more than a minute, seed {seed}", target.name),
        }
        if matches!(result, Ok((.., true))) {
            return true;
        }
        let input = hex(&current.lock().unwrap_or_else(PoisonError::into_inner));
        println!("  again: cargo run -p claimstream-fuzz -- --hex {input:?} {}", target.name);
        false
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    if digits.len().is_multiple_of(2) { pairs.collect() } else { None }
}
