/// A value that is well written and cannot be used, alone or with others: its key, and why.
pub(super) type Contradiction = (String, String);
