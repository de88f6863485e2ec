use std::path::PathBuf;

use claimstream_domain::notification::{RequestStatus, consent::PreferenceChange};
use clap::{Parser, Subcommand, ValueEnum};
use uuid::Uuid;

use crate::{
    bench_arguments::BenchArguments,
    config::TargetName,
    dead_arguments::DeadCommand,
    doctor_arguments::DoctorArguments,
    holder_arguments::{LeasesArguments, LocksArguments},
    ids::uuid,
    operator_name::OperatorName,
    paging::Paging,
    pause_arguments::{PauseArguments, ResumeArguments},
    run_arguments::{SagaArguments, TccArguments, TimerArguments},
    schema_arguments::SchemaCommand,
    setting_flags::SettingFlags,
    suppression_arguments::SuppressionCommand,
    template_arguments::TemplateCommand,
};

/// A transactional outbox for MySQL, MariaDB and SQLite, and its notification pipelines.
#[derive(Parser)]
#[command(name = "claimstream", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Configuration comes from a TOML file, from variables such as CLAIMSTREAM_DATABASE__URL, and from flags; each is \
stronger than the one before. `claimstream config print` shows what holds and where it was set.

Exit codes: 0 done; 1 not done, or not wholly; 2 not understood (arguments or configuration); 130 interrupted. Results go to the \
standard output, errors and logs to the standard error.";

#[derive(Clone, Subcommand)]
pub(crate) enum Command {
    /// Print, plan or make the tables
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Check the configuration and the database for everything that could lose, double or hold up messages
    ///
    /// Prints one line for each finding, in groups by what they are about. The exit code is 1 if something fails, or if --strict is
    /// given and something is warned of, and 0 otherwise.
    Doctor(DoctorArguments),
    /// Hand in notification requests, one JSON object a line
    ///
    /// A line that cannot be taken is reported with its number and the reason, and the rest goes in. A request that is
    /// known is counted as replayed and changes nothing, so the same file may be handed in again. Another request under a known id
    /// is a conflict; it is reported and not taken. The exit code is 1 if a line was refused or in conflict.
    Notify {
        /// The file, or - for the standard input
        file: PathBuf,
        /// Print the counts as JSON
        #[arg(long)]
        json: bool,
    },
    /// Call off a request: what has not been delivered is taken back
    ///
    /// Prints how many messages were taken back, how many of these were in a provider's hands at most, and how many had been
    /// delivered. A call that was cut off is completed by another one.
    Cancel {
        /// The request's id
        #[arg(value_name = "REQUEST_ID", value_parser = uuid)]
        id: Uuid,
        #[command(flatten)]
        operator: OperatorName,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how far a request has come, and what became of its messages
    Show {
        /// The request's id
        #[arg(value_name = "REQUEST_ID", value_parser = uuid)]
        id: Uuid,
        /// The most messages to show
        #[arg(long, default_value_t = 100, value_name = "N")]
        limit: u32,
        /// Show also which provider was asked to deliver each of them, when, and what it answered
        #[arg(long)]
        attempts: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the newest requests
    Requests {
        /// Only those that stand here, such as PENDING, by what the request itself says
        #[arg(long)]
        status: Option<RequestStatus>,
        /// Only those of the requester with this id
        #[arg(long, value_name = "ID")]
        requester: Option<String>,
        /// Read on from here: the place that the page before named
        #[arg(long, value_name = "REQUEST_ID", value_parser = uuid)]
        after: Option<Uuid>,
        /// The most to list
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show where messages of the outbox stand: their attempts, the next try, the last error, and the relay that has them
    ///
    /// A message that is finished or unknown is not found. The exit code is 1 if one was not found.
    Messages {
        /// The messages' ids
        #[arg(value_name = "MESSAGE_ID", required = true, value_parser = uuid)]
        ids: Vec<Uuid>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the instances that have claimed messages, with their labels; under shard_lease `leases` has them
    Instances(Paging),
    /// List the leases of shards: their holders, when they end, and how much is in flight; or release one
    Leases(LeasesArguments),
    /// List the distributed locks of the database: their fences, and when they lapse; or release one
    Locks(LocksArguments),
    /// Put users and segments into the directory of the database, or show a user
    #[command(subcommand)]
    Directory(DirectoryCommand),
    /// Show or change what a recipient wants, or forget a recipient
    #[command(subcommand)]
    Recipient(RecipientCommand),
    /// Deliver notifications, or publish queues to brokers, until a signal stops it
    ///
    /// With --publish it hands the messages of queues to brokers, as sections [publish.NAME] of the configuration say.
    ///
    /// SIGINT or SIGTERM lets running deliveries finish, for at most relay.drain; a second one stops at once. What was held
    /// then is delivered again when its lease has ended.
    Relay {
        /// Publish queues instead: those of these sections [publish.NAME], or of all. Names are separated by commas
        #[arg(long, value_name = "NAME", num_args = 0.., value_delimiter = ',')]
        publish: Option<Vec<TargetName>>,
        /// Stop when nothing is due or leased any more; what waits for a later time is left
        #[arg(long, visible_alias = "once")]
        until_empty: bool,
    },
    /// Take notifications in over HTTP until a signal stops it
    ///
    /// SIGINT or SIGTERM stops the listener, lets requests that were accepted finish, for at most serve.drain, and then stops the
    /// relay, if there is one; a second signal stops at once. /docs shows the routes and lets you try them.
    Serve {
        /// Deliver too, in the same process
        #[arg(long)]
        relay: bool,
        /// Show the board too: how the queues stand, in the browser, at board.listen
        #[arg(long)]
        board: bool,
    },
    /// Ask a relay or a server on this machine whether it is ready, for container images without a web client
    ///
    /// Asks `/readyz` at probes.listen, or at serve.listen if that is not set. The exit code is 0 if the process is ready and 1 if not.
    Healthcheck {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how the queues stand
    Status {
        /// Show it again every so many seconds, 2 unless given
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
        watch: Option<f64>,
        /// Print JSON, one line each time
        #[arg(long)]
        json: bool,
    },
    /// Stop claims from a queue: messages in hand are finished, and those that come wait
    ///
    /// Relays stop within `relay.idle_max`, or two seconds if that is less. The pause outlives every restart, and `status` and
    /// `doctor` show it. A queue that is paused already keeps its first note.
    Pause(PauseArguments),
    /// Let relays claim from a queue again that was paused; they begin within `relay.idle_max`
    Resume(ResumeArguments),
    /// List what operators did with this program and on the board, newest first
    ///
    /// Each entry was written before its action: the name that --by, USER or LOGNAME gave, or that of the token of the board. A bulk
    /// revival or purge has a second entry with the number of letters; without one it was cut off.
    Audit(Paging),
    /// List the sagas that have not ended, the one that has stood still for longest first; show one, or continue it
    ///
    /// They are listed in their home, the database that was given to `Saga::list`. A step changes a row when it has been taken, so a saga that is
    /// tried again and again stands still.
    Sagas(Box<SagaArguments>),
    /// List the TCC transactions that have not ended, the one that has stood still for longest first, or show one
    Tcc(Box<TccArguments>),
    /// List timers with their next occurrence; list the events of timers that have not ended, or show one
    ///
    /// A schedule is a part of the program that runs the timer, and is not stored; the occurrence that comes next is.
    Timers(Box<TimerArguments>),
    /// List, show, count by reason, revive or purge messages that were given up
    #[command(subcommand)]
    Dead(DeadCommand),
    /// List, add or remove addresses that must not be written to
    #[command(subcommand)]
    Suppressions(SuppressionCommand),
    /// Edit what notifications say, and publish it
    #[command(subcommand)]
    Templates(TemplateCommand),
    /// Measure this server for a few seconds, in a database that is made for it and removed again
    ///
    /// On MySQL and MariaDB it makes a database of its own on the same server, on SQLite a file of its own in the same folder; nothing
    /// of yours is read or written. The server is under full load meanwhile, so it asks first; elsewhere than on a terminal give
    /// --yes. A signal stops it, and what it made is removed; the exit code is 130 then. What a run leaves that was killed is removed
    /// by the next one.
    Bench(BenchArguments),
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a script that completes arguments in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command
    Man {
        /// The directory; it is made if it is new
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[derive(Clone, Subcommand)]
pub(crate) enum DirectoryCommand {
    /// Put the users of a file into the directory, each in place of the entry that its id has
    ///
    /// A file of JSON lines has a user a line, such as {"user":"u-1","email":"ann@example.com","language":"de"}. A file of CSV has
    /// the names of its columns in the first line: user, email, phone, device_token, webhook, chat, language, time_zone, and
    /// attributes.NAME. A line that cannot be taken is reported with its number and the reason, and the rest goes in, 500 at a
    /// time. The same file may be imported again. The exit code is 1 if a line was refused.
    Import {
        /// The file, or - for the standard input
        file: PathBuf,
        /// Put them into this segment too, which is made if it is new
        #[arg(long, value_name = "NAME")]
        segment: Option<String>,
        /// How the file is written; by its name unless given
        #[arg(long)]
        format: Option<EntryFormatName>,
        /// Print the counts as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a user of the directory, and the segments that it is in
    Show {
        /// The user's id
        #[arg(value_name = "USER_ID")]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EntryFormatName {
    /// JSON lines
    Jsonl,
    /// Comma-separated values
    Csv,
}

#[derive(Clone, Subcommand)]
pub(crate) enum RecipientCommand {
    /// Remove a recipient from the directory of the database, with its preferences, and its addresses and what was written to it from
    /// requests, messages and dead letters
    ///
    /// Counts stay, and a suppressed address stays suppressed, as a hash. Remove the recipient from any other directory first, and
    /// hand in no more requests for it. It may be run again.
    Erase {
        /// The recipient's key as `show` prints it, such as user:u-1
        key: String,
        /// An address of a user of another directory, such as email:ann@example.com, of which a hash is to stay if it is suppressed; may
        /// be given again
        #[arg(long = "address", value_name = "CHANNEL:ADDRESS")]
        addresses: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a recipient wants, and change it
    Preferences {
        /// The recipient's key: user:ID, or the channel and address of one given by address, such as email:ann@example.com
        key: String,
        /// A change, such as email/marketing=off, any/marketing=off, time_zone=Europe/Berlin or quiet_hours=22:00-08:00; nothing
        /// after the '=' takes away what was set; may be given again
        #[arg(long = "change", value_name = "WHAT=VALUE")]
        changes: Vec<PreferenceChange>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print what holds for each key and where it was set, without secrets
    Print {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    /// Commands that print a script or files, or that print nothing and work until a signal stops them.
    const WITHOUT_JSON: [&str; 7] =
        ["schema print", "schema routines", "schema debezium-view", "relay", "serve", "completions", "man"];

    #[test]
    fn every_command_that_prints_data_can_print_json() {
        let root = <super::Arguments as clap::CommandFactory>::command();
        let mut without = Vec::new();
        for command in root.get_subcommands() {
            let below: Vec<_> = command.get_subcommands().collect();
            let has_json =
                |one: &clap::Command| one.get_arguments().any(|argument| argument.get_id() == "json");
            match below.is_empty() {
                true if !has_json(command) => without.push(command.get_name().to_owned()),
                true => {}
                false => {
                    let lacking = below.into_iter().filter(|one| !has_json(one));
                    without.extend(lacking.map(|one| format!("{} {}", command.get_name(), one.get_name())));
                }
            }
        }
        without.sort_unstable();
        let mut known = WITHOUT_JSON;
        known.sort_unstable();
        assert_eq!(without, known);
    }

    #[test]
    fn the_arguments_are_consistent() {
        <super::Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
