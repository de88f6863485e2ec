/// A fault that can be put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The record commits in a transaction of its own, and then the effect.
    RecordedBeforeTheEffect,
    /// The effect commits in a transaction of its own, and then the record.
    RecordedAfterTheEffect,
    /// Who has read that there is no record writes one, and no unique key objects.
    ReadThenInsert,
    /// A record that was there counts as new, because the driver reports a found row as a changed one.
    FoundCountsAsNew,
    /// Its id alone makes a message a repeat, whatever it carries.
    PayloadIsNotCompared,
    /// A record is purged while its message may still come.
    PurgedTooEarly,
}
