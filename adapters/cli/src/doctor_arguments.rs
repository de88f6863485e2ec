use std::time::Duration;

use clap::Args;

use crate::{dead_arguments::duration, operator_name::OperatorName};

/// What is checked, or what a failover has left and is repaired.
#[derive(Clone, Args)]
pub(crate) struct DoctorArguments {
    /// Let warnings fail the check
    #[arg(long)]
    pub(crate) strict: bool,
    /// Look for what an asynchronous failover has left without a worker, and queue it again; nothing else is checked
    ///
    /// Without --yes it says what would happen, asks on a terminal, and changes nothing elsewhere. It walks over whole tables, and relays
    /// may run meanwhile. The exit code is 1 if something is left.
    #[arg(long, conflicts_with = "strict")]
    pub(crate) after_failover: bool,
    /// With --after-failover: leave alone what has changed since
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration, requires = "after_failover")]
    pub(crate) quiet_for: Duration,
    /// With --after-failover: do it without asking
    #[arg(long, requires = "after_failover")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON, and never ask
    #[arg(long)]
    pub(crate) json: bool,
}
