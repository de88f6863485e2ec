use crate::{
    arguments::{Command, RecipientCommand},
    dead_arguments::DeadCommand,
    run_arguments::TimerCommand,
    schema_arguments::SchemaCommand,
    suppression_arguments::SuppressionCommand,
};

/// Over how many of several databases a command goes, if none is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spread {
    /// The command goes over them itself, or needs none.
    Itself,
    /// It needs to know which one.
    One,
    /// Over all of them at the same time.
    Each,
    /// Over one after another, because it may ask.
    InTurn,
    /// It looks for one thing, which is in one of them.
    Search,
}

impl Spread {
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Doctor(asked) if asked.after_failover => Self::One,
            Command::Schema(SchemaCommand::Routines(wish) | SchemaCommand::DebeziumView(wish))
                if !wish.apply =>
            {
                Self::One
            }
            Command::Doctor { .. }
            | Command::Status { .. }
            | Command::Relay { .. }
            | Command::Serve { .. }
            | Command::Healthcheck { .. }
            | Command::Config(_)
            | Command::Completions { .. }
            | Command::Man { .. } => Self::Itself,
            Command::Schema(SchemaCommand::Print { .. } | SchemaCommand::Reshard(_))
            | Command::Notify { .. }
            | Command::Cancel { .. }
            | Command::Messages { .. }
            | Command::Directory(_)
            | Command::Recipient(RecipientCommand::Preferences { .. })
            | Command::Templates(_)
            | Command::Bench(_) => Self::One,
            Command::Schema(_)
            | Command::Requests { .. }
            | Command::Instances(_)
            | Command::Pause(_)
            | Command::Resume(_)
            | Command::Audit(_)
            | Command::Recipient(RecipientCommand::Erase { .. })
            | Command::Suppressions(_) => Self::Each,
            Command::Show { .. } => Self::Search,
            Command::Leases(asked) => Self::list_unless(asked.change.is_some(), Self::One),
            Command::Locks(asked) => Self::list_unless(asked.change.is_some(), Self::One),
            Command::Sagas(asked) => Self::list_unless(asked.command.is_some(), Self::One),
            Command::Tcc(asked) => Self::list_unless(asked.command.is_some(), Self::Search),
            Command::Timers(asked) => {
                Self::list_unless(matches!(asked.command, Some(TimerCommand::Show { .. })), Self::Search)
            }
            Command::Dead(DeadCommand::Show { .. }) => Self::Search,
            Command::Dead(DeadCommand::Revive(_) | DeadCommand::Purge(_)) => Self::InTurn,
            Command::Dead(_) => Self::Each,
        }
    }

    fn list_unless(is_about_one: bool, then: Self) -> Self {
        if is_about_one { then } else { Self::Each }
    }
}

/// Whether the command reads on from a place, which is one of one database.
pub(super) fn has_place(command: &Command) -> bool {
    match command {
        Command::Requests { after, .. } => after.is_some(),
        Command::Instances(paging) | Command::Audit(paging) => paging.after.is_some(),
        Command::Leases(asked) => asked.paging.after.is_some(),
        Command::Locks(asked) => asked.paging.after.is_some(),
        Command::Sagas(asked) => asked.listing.after.is_some(),
        Command::Tcc(asked) => asked.listing.after.is_some(),
        Command::Timers(asked) => match &asked.command {
            Some(TimerCommand::Events { listing, .. }) => listing.after.is_some(),
            _ => asked.after.is_some(),
        },
        Command::Dead(DeadCommand::List { after, .. }) => after.is_some(),
        Command::Suppressions(SuppressionCommand::List { after, .. }) => after.is_some(),
        _ => false,
    }
}

/// Whether the command takes in messages, which a database that is being emptied takes no more.
pub(super) fn takes_in(command: &Command) -> bool {
    matches!(command, Command::Notify { .. } | Command::Serve { .. })
}
