use std::{fmt, sync::Arc};

use claimstream_ports::notification::{
    DirectoryRepository, EraseRecipient, RecipientDirectory, Suppressions,
};

use crate::problem::Problem;

/// The stores of recipients: who they are, and which addresses must not be written to.
#[derive(Clone)]
pub struct RecipientStores {
    /// Keeps users and segments; the routes for them refuse to without it.
    pub directory: Option<Directory>,
    /// Forgets a recipient.
    pub erase: Arc<dyn EraseRecipient>,
    /// Keeps addresses that must not be written to.
    pub suppressions: Arc<dyn Suppressions>,
}

/// A directory that is kept in the database, written and read.
#[derive(Clone)]
pub struct Directory {
    /// Puts users in and takes them out.
    pub users: Arc<dyn DirectoryRepository>,
    /// Reads the members of segments.
    pub segments: Arc<dyn RecipientDirectory>,
}

impl RecipientStores {
    /// The directory, or the refusal of one that is kept elsewhere.
    pub(crate) fn directory(&self) -> Result<&Directory, Problem> {
        self.directory.as_ref().ok_or_else(Problem::directory_elsewhere)
    }
}

impl fmt::Debug for RecipientStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People").finish_non_exhaustive()
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").finish_non_exhaustive()
    }
}
