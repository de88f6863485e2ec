use crate::random::Random;

/// How often what goes wrong in a schedule, each in a thousand cases; half of the kinds are absent from a schedule.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// A call fails before it has done anything.
    pub(crate) refused: u64,
    /// A call is done and its answer is an error.
    pub(crate) lost: u64,
    /// A call takes a part of a lease, or a few leases.
    pub(crate) slow: u64,
    /// A call is done though its caller has died or stopped waiting.
    pub(crate) detached: u64,
    /// Of a call about many, some are answered as unknown.
    pub(crate) unknown: u64,
    /// The store's clock stands still, goes on, or jumps.
    pub(crate) clock: u64,
    /// A process is killed.
    pub(crate) crash: u64,
    /// A process stands still.
    pub(crate) pause: u64,
    /// A handler, an effect or a provider fails, hangs or panics.
    pub(crate) handler: u64,
    /// An operator pauses a queue or revives dead letters.
    pub(crate) operator: u64,
}

impl Weather {
    pub(crate) const CALM: Self = Self {
        refused: 0,
        lost: 0,
        slow: 0,
        detached: 0,
        unknown: 0,
        clock: 0,
        crash: 0,
        pause: 0,
        handler: 0,
        operator: 0,
    };

    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut some = |most: u64| if random.below(2) == 0 { 0 } else { 1 + random.below(most) };
        Self {
            refused: some(150),
            lost: some(150),
            slow: some(150),
            detached: some(150),
            unknown: some(150),
            clock: some(40),
            crash: some(500),
            pause: some(300),
            handler: some(500),
            operator: some(300),
        }
    }

    /// Whether a lease can be relied on: no process stands still and the store's clock runs as all others do.
    pub(crate) fn keeps_leases(&self) -> bool {
        self.clock == 0 && self.pause == 0
    }

    /// Whether an attempt is counted for no other reason than what its handler did.
    pub(crate) fn counts_only_failures(&self) -> bool {
        self.keeps_leases()
            && self.crash + self.lost + self.slow + self.detached + self.refused + self.unknown == 0
    }
}

/// A kind of fault, as it is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mishap {
    /// A call failed before it had done anything.
    Refused,
    /// The answer to a call was lost.
    Lost,
    /// A call took long.
    Slow,
    /// A call went on without its caller.
    Detached,
    /// Settlements were answered as unknown.
    Unknown,
    /// The store's clock stood still, went on or jumped.
    Clock,
    /// A process was killed.
    Crash,
    /// A process stood still for a while.
    Pause,
    /// A handler, an effect or a provider failed, hung or panicked.
    Handler,
    /// An operator paused a queue or revived dead letters.
    Operator,
}

impl Mishap {
    /// How many kinds there are.
    pub const COUNT: usize = 10;

    /// Every kind, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Refused,
        Self::Lost,
        Self::Slow,
        Self::Detached,
        Self::Unknown,
        Self::Clock,
        Self::Crash,
        Self::Pause,
        Self::Handler,
        Self::Operator,
    ];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused calls",
            Self::Lost => "lost answers",
            Self::Slow => "slow calls",
            Self::Detached => "calls without a caller",
            Self::Unknown => "unknown settlements",
            Self::Clock => "clock steps",
            Self::Crash => "crashes",
            Self::Pause => "pauses",
            Self::Handler => "failed handlers",
            Self::Operator => "operators",
        }
    }
}
