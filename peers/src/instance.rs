use std::{
    collections::HashSet,
    fs,
    io::Write,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    Failure, contender,
    job::{Job, Work},
    ledger::LEDGER,
    server::{Probe, Server},
};

/// How long nothing new may be seen in an empty table before the work counts as done.
const QUIET: Duration = Duration::from_millis(500);
/// How long nothing new may be seen while messages are left; longer than any peer is known to stall for.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often the ledger is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// The longest pause between two looks at the table.
const PROBE: Duration = Duration::from_millis(80);

/// The life of an instance: get ready, say so, wait for the word, work, report.
pub(crate) async fn run(job: &Job) -> Result<(), Failure> {
    let library = contender::find(&job.contender)?.library;
    let server = Server::new(&job.url);
    let mut worker = library.worker(&server, job).await?;
    let mut watch = Watch::new(server.probe(library.left()).await?);
    say_ready_and_wait()?;
    worker.start().await?;
    watch.until_done(job.seconds).await?;
    println!("{}", serde_json::to_string(&watch.report()?)?);
    Ok(())
}

fn say_ready_and_wait() -> Result<(), Failure> {
    println!("ready");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(())
}

/// Sees from the ledger and from the table how far the work is.
///
/// No peer says when an acknowledgement has gone through. So the table is asked when the handlers fall silent, and the
/// moment before the first question that found it empty is the moment by which everything was acknowledged.
struct Watch {
    probe: Probe,
    seen: usize,
    silent_since: Instant,
    next_probe: Instant,
    pause: Duration,
    empty: Option<SystemTime>,
}

impl Watch {
    fn new(probe: Probe) -> Self {
        let now = Instant::now();
        Self { probe, seen: 0, silent_since: now, next_probe: now, pause: LOOK, empty: None }
    }

    /// Comes back when the table is empty and nothing new was seen for a while, when the time is over, or when patience
    /// is.
    async fn until_done(&mut self, seconds: f64) -> Result<(), Failure> {
        let began = Instant::now();
        self.silent_since = began;
        loop {
            tokio::time::sleep(LOOK).await;
            self.look().await?;
            let silent = self.silent_since.elapsed();
            let time_is_over = seconds > 0.0 && began.elapsed().as_secs_f64() >= seconds;
            if time_is_over || (self.empty.is_some() && silent >= QUIET) || silent >= PATIENCE {
                return Ok(());
            }
        }
    }

    async fn look(&mut self) -> Result<(), Failure> {
        let (count, now) = (LEDGER.count(), Instant::now());
        if count > self.seen {
            (self.seen, self.empty) = (count, None);
            (self.silent_since, self.next_probe, self.pause) = (now, now + LOOK, LOOK);
        } else if self.empty.is_none() && now >= self.next_probe {
            let asked = SystemTime::now();
            self.empty = if self.probe.finds().await? { None } else { Some(asked) };
            self.pause = PROBE.min(self.pause * 2);
            self.next_probe = Instant::now() + self.pause;
        }
        Ok(())
    }

    fn report(&self) -> Result<Work, Failure> {
        let last = self.empty.unwrap_or(UNIX_EPOCH).max(LEDGER.last());
        let handed_out = LEDGER.take();
        let distinct: HashSet<u64> = handed_out.iter().copied().collect();
        Ok(Work {
            last: last.duration_since(UNIX_EPOCH)?.as_secs_f64(),
            handed_out,
            acknowledged: distinct.into_iter().collect(),
            superseded: 0,
            cpu_seconds: cpu_seconds()?,
        })
    }
}

/// User and system time of this process so far.
fn cpu_seconds() -> Result<f64, Failure> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in brackets; user and system time are the 14th and the 15th.
    let fields = stat.rsplit_once(')').ok_or("no end of the program's name")?.1.split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}
