use claimstream_domain::QueueName;
use clap::{Args, Subcommand};

use crate::{operator_name::OperatorName, paging::Paging, shard_place::ShardPlace};

/// Which leases are listed, or which one is released.
#[derive(Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LeasesArguments {
    /// All leases of this queue, and no others
    #[arg(long, conflicts_with_all = ["after", "limit"])]
    pub(crate) queue: Option<QueueName>,
    #[command(flatten)]
    pub(crate) paging: Paging,
    #[command(subcommand)]
    pub(crate) change: Option<LeaseCommand>,
}

/// What is done with a lease.
#[derive(Clone, Subcommand)]
pub(crate) enum LeaseCommand {
    /// Take the lease of a shard from its holder, as if it had ended: for an instance that hangs and renews
    ///
    /// What is in flight is due again with one attempt more, and is handed out one at a time; what the holder settles from then on is
    /// refused. The holder may still be handling it, so a handler may run twice. Without --yes it says what would happen, asks
    /// on a terminal, and changes nothing elsewhere. The exit code is 1 if the lease has another fence, or is not held.
    Release(ReleaseLeaseArguments),
}

/// Which lease is released, and by whom.
#[derive(Clone, Args)]
pub(crate) struct ReleaseLeaseArguments {
    /// The shard
    #[arg(value_name = "QUEUE/SHARD")]
    pub(crate) place: ShardPlace,
    /// The fence that `leases` shows; under another one nothing is released
    #[arg(long, value_name = "N")]
    pub(crate) fence: i64,
    /// Do it without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON, and never ask
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which locks are listed, or which one is released.
#[derive(Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LocksArguments {
    #[command(flatten)]
    pub(crate) paging: Paging,
    #[command(subcommand)]
    pub(crate) change: Option<LockCommand>,
}

/// What is done with a lock.
#[derive(Clone, Subcommand)]
pub(crate) enum LockCommand {
    /// Take a lock from its holder, which learns of it when it renews the lock
    ///
    /// Another may take the lock at once, so that two are at work at a time. Without --yes it asks on a terminal, and changes nothing
    /// elsewhere. The exit code is 1 if the lock is not held under this fence.
    Release(ReleaseLockArguments),
}

/// Which lock is released, and by whom.
#[derive(Clone, Args)]
pub(crate) struct ReleaseLockArguments {
    /// The key
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// The fence that `locks` shows; under another one nothing is released
    #[arg(long, value_name = "N")]
    pub(crate) fence: u64,
    /// Do it without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON, and never ask
    #[arg(long)]
    pub(crate) json: bool,
}
