use std::env;

use clap::Args;

use crate::failure::Failure;

/// The name that is kept with a change.
#[derive(Clone, Args)]
pub(crate) struct OperatorName {
    /// Your name, which is kept; the one that USER or LOGNAME has unless given
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl OperatorName {
    /// Kept for an operator whose name is not known, such as a job in a container.
    pub(crate) const UNNAMED: &str = "unnamed";

    /// The name that was given, or that of the account.
    pub(crate) fn find(self) -> Result<String, Failure> {
        self.known().ok_or_else(|| Failure::Usage("your name is not known here; give it with --by".into()))
    }

    /// The same, or a word that says that there is none.
    pub(crate) fn find_or_unnamed(self) -> String {
        self.known().unwrap_or_else(|| Self::UNNAMED.into())
    }

    fn known(self) -> Option<String> {
        let of_account = || ["USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
        self.by.into_iter().chain(of_account()).find(|name| !name.is_empty())
    }
}
