use clap::Args;

/// Which page of a list is printed, and how.
#[derive(Clone, Args)]
pub(crate) struct Paging {
    /// Read on from here: the place that the page before named
    #[arg(long, value_name = "PLACE")]
    pub(crate) after: Option<String>,
    /// The most to list
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
