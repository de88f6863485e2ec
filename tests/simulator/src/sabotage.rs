use crate::World;

/// A guard that is missing: each must be found by the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sabotage {
    /// A settlement is taken whatever its claim.
    SettlesForAnyClaim,
    /// A settlement that lost its claim is called accepted.
    AcceptsWhatIsLost,
    /// A claim hands out a message that is leased.
    HandsOutLeased,
    /// A renewal answers and does nothing.
    ForgetsToRenew,
    /// A release counts the attempt.
    CountsReleases,
    /// An attempt is not counted.
    CountsNoAttempt,
    /// A settlement whose answer is unknown is guessed to be accepted.
    GuessesSettlements,
    /// A message that is settled loses its children.
    ForgetsChildren,
    /// A handler's message is acknowledged before the handler ends.
    AcksBeforeTheEnd,
    /// A message that is handled takes its verdict from another one of its batch.
    MixesVerdicts,
    /// The ledger answers that a step is new, always.
    BeginsAlwaysNew,
    /// The ledger changes a step from any version and state.
    AdvancesAnything,
    /// The fingerprint of a step is not compared, so that any payload is a repeat.
    KeepsNoFingerprint,
    /// The step is committed before its effect, in a transaction of its own.
    StepsWithoutEffect,
    /// A commit whose outcome is unknown is called done.
    GuessesCommits,
    /// What calls off a step that was not taken leaves no row.
    LeavesNoTombstone,
    /// What is due later is not enqueued: the check of a saga or a TCC transaction, the next tick of a timer.
    EnqueuesNothingLater,
    /// A participant that fails is called done.
    GuessesParticipants,
    /// A provider that does not take a message is said to have taken it.
    GuessesDeliveries,
    /// The outcome of a delivery is not noted.
    ForgetsOutcomes,
    /// A message that was called off is said to be pending.
    ForgetsCancellations,
    /// A provider that may have accepted a message is forgotten.
    ForgetsDoubts,
}

impl Sabotage {
    /// Those that are known to be found, with the world that must find it.
    pub const ALL: &[(Self, World)] = &[
        (Self::SettlesForAnyClaim, World::Pipeline),
        (Self::AcceptsWhatIsLost, World::Pipeline),
        (Self::HandsOutLeased, World::Pipeline),
        (Self::ForgetsToRenew, World::Pipeline),
        (Self::CountsReleases, World::Stream),
        (Self::CountsNoAttempt, World::Stream),
        (Self::GuessesSettlements, World::Stream),
        (Self::ForgetsChildren, World::Pipeline),
        (Self::AcksBeforeTheEnd, World::Pipeline),
        (Self::MixesVerdicts, World::Batches),
        (Self::BeginsAlwaysNew, World::Inbox),
        (Self::KeepsNoFingerprint, World::Inbox),
        (Self::StepsWithoutEffect, World::Inbox),
        (Self::GuessesCommits, World::Inbox),
        (Self::AdvancesAnything, World::Saga),
        (Self::LeavesNoTombstone, World::Saga),
        (Self::EnqueuesNothingLater, World::Saga),
        (Self::EnqueuesNothingLater, World::Tcc),
        (Self::GuessesParticipants, World::Tcc),
        (Self::LeavesNoTombstone, World::Tcc),
        (Self::EnqueuesNothingLater, World::Timers),
        (Self::StepsWithoutEffect, World::Timers),
        (Self::GuessesDeliveries, World::Notifications),
        (Self::ForgetsOutcomes, World::Notifications),
        (Self::ForgetsCancellations, World::Notifications),
        (Self::ForgetsDoubts, World::Notifications),
    ];
}
