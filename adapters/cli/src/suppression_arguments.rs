use claimstream_domain::notification::{Channel, consent::Suppression};
use clap::Subcommand;

/// What can be done with addresses that must not be written to.
#[derive(Clone, Subcommand)]
pub(crate) enum SuppressionCommand {
    /// List suppressed addresses
    List {
        /// Only those of this channel
        #[arg(long)]
        channel: Option<Channel>,
        /// Read on from here: the place that the page before named
        #[arg(long, value_name = "PLACE")]
        after: Option<String>,
        /// The most to list
        #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Suppress an address
    Add {
        /// The channel
        channel: Channel,
        /// The address
        address: String,
        /// Why: unsubscribed, bounced or complained
        #[arg(long)]
        reason: Suppression,
        /// A note for people
        #[arg(long)]
        note: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let an address be written to again
    Remove {
        /// The channel
        channel: Channel,
        /// The address
        address: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
