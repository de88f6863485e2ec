use std::{panic, sync::Once, time::Duration};

use claimstream_ports::Timer;

use crate::{Mishap, Sabotage, Scripted, World, executor::Executor, sim::Sim};

/// One run of a world under everything that a seed decides.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// What is run.
    pub world: World,
    /// What decides the order and the faults.
    pub seed: u64,
    /// The guard that is missing, if any.
    pub sabotage: Option<Sabotage>,
}

/// How a schedule ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The promise that was broken.
    pub failure: Option<String>,
    /// How often each kind of fault happened, in the order of [`Mishap::ALL`].
    pub mishaps: [u64; Mishap::COUNT],
    /// How often a task was polled.
    pub polls: u32,
    /// How much virtual time passed.
    pub time: Duration,
    /// What happened, line by line, if that was asked for.
    pub trace: String,
}

impl Schedule {
    /// The command that runs it again, with its trace.
    pub fn command(&self) -> String {
        let Self { world, seed, .. } = self;
        format!("cargo run -p claimstream-simulator -- --world {world} --seed {seed}")
    }

    /// Runs it without a trace.
    pub fn run(&self) -> Outcome {
        self.run_with(false)
    }

    /// Runs it, and keeps what happened line by line.
    pub fn run_traced(&self) -> Outcome {
        self.run_with(true)
    }

    fn run_with(&self, is_traced: bool) -> Outcome {
        silence_scripted_panics();
        let sim = Sim::new(self.seed, self.sabotage, is_traced);
        sim.trace(|| format!("{:?}", sim.weather()));
        let mut executor = Executor::new(&sim);
        let polls = executor.run(self.world.script(sim.clone()));
        drop(executor);
        // What was never begun holds the simulator, and would never be freed.
        let left = std::mem::take(&mut sim.state().spawned);
        drop(left);
        let mishaps = sim.state().mishaps;
        let time = sim.timer().now();
        Outcome { failure: sim.take_failure(), mishaps, polls, time, trace: sim.take_trace() }
    }
}

fn silence_scripted_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<Scripted>() {
                before(info);
            }
        }));
    });
}
