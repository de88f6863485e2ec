use claimstream_domain::notification::Recipient;

/// The number of a line, and its user or why it has none.
pub(crate) type UserEntry = (u64, Result<Recipient, String>);
