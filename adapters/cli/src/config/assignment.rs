use std::{fmt, path::PathBuf};

/// One value and where it was written. It has no `Debug`: the value may be a secret.
#[derive(Clone)]
pub(super) struct Assignment {
    /// The key, as it is known.
    pub(super) key: String,
    /// The key, as it was written.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// Where a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Nowhere; it is the default.
    Default,
    /// In a file, on a line counted from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line, where it is known.
        line: Option<usize>,
    },
    /// In a variable of the environment.
    Variable(String),
    /// On the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}
