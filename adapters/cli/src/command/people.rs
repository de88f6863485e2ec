use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
    process::ExitCode,
};

use claimstream_domain::notification::{DirectoryEntry, Recipient};
use claimstream_notifications::DirectoryRepository;
use claimstream_ports::StoreError;
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::json;

use crate::{
    Exit,
    arguments::{DirectoryCommand, EntryFormatName},
    config::Config,
    entries::{Entries, EntryFormat},
    failure::Failure,
    progress::Progress,
    table::plain,
};

/// Puts users into the directory of the database, or shows one.
pub(super) async fn run(
    command: DirectoryCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match command {
        DirectoryCommand::Import { file, segment, format, json } => {
            import(&file, segment, format, json, config, out).await
        }
        DirectoryCommand::Show { id, json } => show(&id, json, config, out).await,
    }
}

async fn import(
    file: &Path,
    segment: Option<String>,
    format: Option<EntryFormatName>,
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    if let Some(name) = &segment {
        DirectoryEntry::check_segment(name).map_err(|e| Failure::Usage(format!("--segment: {e}")))?;
    }
    let entries = Entries::new(format_of(file, format)?, open(file)?);
    let mut entries =
        entries.map_err(|why| Failure::Refused(format!("nothing was put in: {}", plain(&why))))?;
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let mut import = Import {
        outbox,
        segment,
        batch: Vec::new(),
        bytes: 0,
        last: 0,
        put: 0,
        through: 0,
        refused: 0,
        progress: Progress::new("import", None, "users"),
    };
    let outcome = import.all(&mut entries).await;
    let Import { put, through, refused, .. } = import;
    let committed = if put == 0 { String::new() } else { format!("; all up to line {through} is committed") };
    match as_json {
        true => {
            let through = (put > 0).then_some(through);
            writeln!(out, "{}", json!({"put": put, "refused": refused, "committed_through_line": through}))?
        }
        false => writeln!(out, "put {put}, refused {refused}{committed}")?,
    }
    outcome?;
    Ok(Exit::done_if(refused == 0).into())
}

fn format_of(file: &Path, named: Option<EntryFormatName>) -> Result<EntryFormat, Failure> {
    let extension = file.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    match (named, extension.as_deref()) {
        (Some(EntryFormatName::Jsonl), _) | (None, Some("jsonl" | "ndjson" | "json")) => {
            Ok(EntryFormat::JsonLines)
        }
        (Some(EntryFormatName::Csv), _) | (None, Some("csv")) => Ok(EntryFormat::Csv),
        (None, _) => Err(Failure::Usage(format!(
            "{} says by its name neither .jsonl nor .csv; add --format jsonl or --format csv",
            file.display()
        ))),
    }
}

fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(file) {
        Ok(file) => Ok(Box::new(file)),
        Err(e) => Err(Failure::Refused(format!("{} cannot be read: {e}", file.display()))),
    }
}

/// Users on their way into the directory, so many in a transaction.
struct Import {
    outbox: SeaOrmOutbox,
    segment: Option<String>,
    batch: Vec<Recipient>,
    bytes: usize,
    /// The line that was read last.
    last: u64,
    put: u64,
    /// The line up to which everything is committed or refused.
    through: u64,
    refused: u64,
    progress: Progress,
}

impl Import {
    const MOST: usize = 500;
    /// One statement carries a batch, and servers take statements of a few megabytes.
    const MOST_BYTES: usize = 1024 * 1024;

    async fn all(&mut self, entries: &mut Entries) -> Result<(), Failure> {
        loop {
            let next = entries.next();
            let next = match next {
                Ok(next) => next,
                Err(why) => {
                    self.commit().await?;
                    return Err(Failure::Refused(format!("the input broke off: {why}")));
                }
            };
            let Some((line, entry)) = next else { return self.commit().await };
            match entry {
                Ok(user) => self.push(user),
                Err(why) => self.refuse(line, &why),
            }
            self.last = line;
            if self.batch.len() >= Self::MOST || self.bytes >= Self::MOST_BYTES {
                self.commit().await?;
            }
        }
    }

    fn push(&mut self, user: Recipient) {
        self.bytes += serde_json::to_vec(&user).map_or(0, |json| json.len());
        self.batch.push(user);
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        if !self.batch.is_empty() {
            let put = self.outbox.put(&self.batch, self.segment.clone()).await;
            put.map_err(|error| stopped(self.through, self.last, &error))?;
            self.put += self.batch.len() as u64;
            self.progress.advance(self.batch.len() as u64);
            (self.batch, self.bytes) = (Vec::new(), 0);
        }
        self.through = self.last;
        Ok(())
    }

    fn refuse(&mut self, line: u64, why: &str) {
        self.refused += 1;
        self.progress.say(&format!("line {line}: {}", plain(why)));
    }
}

fn stopped(through: u64, last: u64, error: &StoreError) -> Failure {
    Failure::Refused(format!(
        "lines {} to {last} are not known to be committed: {error}; import the same file again, what is there is put again",
        through + 1
    ))
}

async fn show(id: &str, as_json: bool, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let Some(DirectoryEntry { user, segments }) = outbox.entry(id).await? else {
        return Err(Failure::Refused(format!("the directory does not know the user {id:?}")));
    };
    let entry = serde_json::to_value(&user).map_err(io::Error::other)?;
    if as_json {
        writeln!(out, "{}", json!({ "user": entry, "segments": segments }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let fields = entry.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        writeln!(out, "{name}: {}", plain(&text))?;
    }
    writeln!(out, "segments: {}", plain(&segments.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}
