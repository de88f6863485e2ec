use std::process::ExitCode;

/// How the program ends; `docs/exit-codes.md` says it for users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Everything was done.
    Done,
    /// Something was not done, or not wholly; a check has failed.
    NotDone,
    /// The arguments or the configuration were not understood, and nothing was done.
    NotUnderstood,
    /// A second signal stopped the program at once.
    Interrupted,
}

impl Exit {
    /// Every way to end.
    pub const ALL: [Self; 4] = [Self::Done, Self::NotDone, Self::NotUnderstood, Self::Interrupted];

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NotDone => 1,
            Self::NotUnderstood => 2,
            // As a shell gives it for SIGINT.
            Self::Interrupted => 130,
        }
    }

    /// What the code means, in the words of the page.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NotDone => "not done, or not wholly",
            Self::NotUnderstood => "not understood",
            Self::Interrupted => "interrupted",
        }
    }

    /// `Done` if it holds, else `NotDone`.
    pub(crate) fn done_if(holds: bool) -> Self {
        if holds { Self::Done } else { Self::NotDone }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
