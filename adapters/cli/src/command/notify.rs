use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use claimstream_domain::notification::{NotificationRequest, Submitted};
use claimstream_notifications::CompiledTemplates;
use claimstream_ports::{StoreError, StoreErrorKind, Timer, notification::RequestRepository};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use serde_json::{error::Category, json};

use crate::{
    Exit,
    config::Config,
    failure::Failure,
    lines::{InputLine, Lines},
    progress::Progress,
    table::plain,
    template_source,
};

/// Hands in the requests of a file or of the standard input, and counts what became of them.
pub(super) async fn run(
    file: &Path,
    as_json: bool,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let (from, length) = open(file)?;
    let outbox = config.database.used_for(Capability::Notifications).open_soon().await?;
    let templates = template_source(config, &outbox)?.map(CompiledTemplates::of);
    let mut intake = Intake {
        outbox,
        timer,
        templates,
        chunk: Chunk::default(),
        tally: SubmitCounts::default(),
        progress: Progress::new("notify", length, "bytes"),
    };
    let outcome = intake.take_all(Lines::new(from)).await;
    let SubmitCounts { new, replayed, conflicts, refused } = intake.tally;
    match as_json {
        true => {
            let counts =
                json!({"new": new, "replayed": replayed, "conflicts": conflicts, "refused": refused});
            writeln!(out, "{counts}")?
        }
        false => writeln!(out, "new {new}, replayed {replayed}, in conflict {conflicts}, refused {refused}")?,
    }
    outcome?;
    Ok(Exit::done_if(conflicts + refused == 0).into())
}

/// The input, and its length if it is known.
fn open(file: &Path) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if file == Path::new("-") {
        return Ok((Box::new(io::stdin()), None));
    }
    match File::open(file) {
        Ok(file) => {
            let length = file.metadata().ok().filter(|it| it.is_file()).map(|it| it.len());
            Ok((Box::new(file), length))
        }
        Err(e) => Err(Failure::Refused(format!("{} cannot be read: {e}", file.display()))),
    }
}

/// Requests on their way into the outbox.
struct Intake {
    outbox: SeaOrmOutbox,
    timer: TokioTimer,
    /// What requests are checked against, if the configuration names templates.
    templates: Option<CompiledTemplates>,
    chunk: Chunk,
    tally: SubmitCounts,
    progress: Progress,
}

/// Requests that go in together, and the lines they stood in.
#[derive(Default)]
struct Chunk {
    lines: Vec<u64>,
    requests: Vec<NotificationRequest>,
    bytes: usize,
}

#[derive(Default)]
struct SubmitCounts {
    new: u64,
    replayed: u64,
    conflicts: u64,
    refused: u64,
}

impl Intake {
    /// How often a chunk is tried that meets a database in trouble, and how long it waits first.
    const TRIES: u32 = 4;
    const FIRST_WAIT: Duration = Duration::from_millis(250);

    async fn take_all(&mut self, mut lines: Lines<impl Read>) -> Result<(), Failure> {
        loop {
            let next = lines.next().map_err(|e| Failure::Refused(format!("the input broke off: {e}")))?;
            let Some((number, line)) = next else { return self.submit().await };
            self.progress.advance(line.length());
            match self.read(line) {
                Ok(Some((request, bytes))) => match self.fault(&request).await? {
                    Some(why) => self.refuse(number, &why),
                    None => self.chunk.push(number, request, bytes),
                },
                Ok(None) => {}
                Err(why) => self.refuse(number, &why),
            }
            // Requests that have been read do not wait for requests that may come later.
            if self.chunk.is_full() || !lines.is_ready() {
                self.submit().await?;
            }
        }
    }

    /// The request in a line and the line's length; `None` if the line is blank.
    fn read(&self, line: InputLine) -> Result<Option<(NotificationRequest, usize)>, String> {
        let text = match line {
            InputLine::Text(text) if text.trim_ascii().is_empty() => return Ok(None),
            InputLine::Text(text) => text,
            InputLine::TooLong => return Err(format!("longer than {} bytes", Lines::<File>::LONGEST)),
        };
        let limit = self.outbox.payload_limit().bytes();
        if text.len() > limit {
            return Err(format!("it has {} bytes, the database takes {limit}", text.len()));
        }
        let request: NotificationRequest = serde_json::from_slice(&text).map_err(|e| fault_of(&e))?;
        request.check().map_err(|e| e.to_string())?;
        Ok(Some((request, text.len())))
    }

    /// Why a request can never be carried out, by its template. One that was taken in before is known, and counts as replayed whatever
    /// has become of its template; one whose template cannot be asked about is checked by the fan-out.
    async fn fault(&self, request: &NotificationRequest) -> Result<Option<String>, Failure> {
        let Some(templates) = &self.templates else { return Ok(None) };
        let fault = match templates.fault(request).await {
            Ok(Some(fault)) => fault,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::warn!(%error, "a request was not checked against its template");
                return Ok(None);
            }
        };
        let known = RequestRepository::read(&self.outbox, &[request.id]).await?;
        Ok(known.into_iter().flatten().next().is_none().then(|| fault.to_string()))
    }

    /// Hands the chunk in. One that the database refuses is halved until the entry stands alone which it refuses, so that
    /// no other is lost with it.
    async fn submit(&mut self) -> Result<(), Failure> {
        let mut parts = vec![std::mem::take(&mut self.chunk)];
        while let Some(mut part) = parts.pop() {
            match (self.hand_in(&part).await, part.lines.as_slice()) {
                (Ok(answers), lines) => {
                    answers.into_iter().zip(lines).for_each(|(answer, line)| self.count(*line, answer));
                }
                (Err(error), [.., last]) if !is_about_an_entry(&error) => return Err(stopped(*last, &error)),
                (Err(error), [alone]) => self.refuse(*alone, &error.to_string()),
                (Err(_), _) => {
                    parts.push(part.split_off_half());
                    parts.push(part);
                }
            }
        }
        Ok(())
    }

    async fn hand_in(&self, part: &Chunk) -> Result<Vec<Submitted>, StoreError> {
        if part.requests.is_empty() {
            return Ok(Vec::new());
        }
        let mut wait = Self::FIRST_WAIT;
        for _ in 1..Self::TRIES {
            match self.outbox.submit_now(&part.requests).await {
                Err(error) if error.is_retryable() => {
                    tracing::warn!(%error, wait_seconds = wait.as_secs_f64(), "the chunk was not handed in; it is tried again");
                    self.timer.sleep(wait).await;
                    wait *= 2;
                }
                answer => return answer,
            }
        }
        self.outbox.submit_now(&part.requests).await
    }

    fn count(&mut self, line: u64, answer: Submitted) {
        match answer {
            Submitted::New => self.tally.new += 1,
            Submitted::Replayed => self.tally.replayed += 1,
            Submitted::Conflict => {
                self.tally.conflicts += 1;
                let why =
                    "another request was taken in under this id; this one was not, give it an id of its own";
                self.progress.say(&format!("line {line}: {why}"));
            }
        }
    }

    fn refuse(&mut self, line: u64, why: &str) {
        self.tally.refused += 1;
        self.progress.say(&format!("line {line}: {}", plain(why)));
    }
}

impl Chunk {
    const MOST: usize = 100;
    /// One statement carries a chunk, and servers take statements of a few megabytes.
    const MOST_BYTES: usize = 1024 * 1024;

    fn push(&mut self, line: u64, request: NotificationRequest, bytes: usize) {
        self.lines.push(line);
        self.requests.push(request);
        self.bytes += bytes;
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= Self::MOST || self.bytes >= Self::MOST_BYTES
    }

    fn split_off_half(&mut self) -> Self {
        let half = self.lines.len() / 2;
        Self { lines: self.lines.split_off(half), requests: self.requests.split_off(half), bytes: 0 }
    }
}

/// Whether another entry might have been taken.
fn is_about_an_entry(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Corrupt | StoreErrorKind::Conflict)
}

fn stopped(line: u64, error: &StoreError) -> Failure {
    Failure::Refused(format!(
        "stopped before the end, no later than line {line}: {error}; hand the same file in again, what went in counts \
         as replayed then"
    ))
}

/// The fault of a line and its column; the parser's own line number is always 1 and is left out.
fn fault_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why);
    match error.classify() {
        Category::Data => format!("column {}: {why}", error.column()),
        _ => format!("column {}: {why}; a line is one request as a JSON object", error.column()),
    }
}
