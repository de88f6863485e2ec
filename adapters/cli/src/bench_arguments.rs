use std::time::Duration;

use clap::Args;

/// How a server is measured.
#[derive(Clone, Args)]
pub(crate) struct BenchArguments {
    /// How many seconds each of the 12 parts takes, 0.2 to 60
    #[arg(long = "seconds", default_value = "2", value_name = "N", value_parser = seconds)]
    pub(crate) each: Duration,
    /// Begin without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Long enough for a figure, and no longer than others may be disturbed.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.2..=60.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "it must be a number from 0.2 to 60".into())
}
