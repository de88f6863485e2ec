/// What a case needs of a backend, and what a backend has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Need {
    /// Its claims and settlements are tried one by one; a backend that is there for one ability only lacks this.
    Claims,
    /// What is not about the way in which due messages are claimed is tried as well: settlements, renewals, dead letters, relays. Two
    /// strategies that differ in that way only need it once, and so does each kind of lock, which stands before claims only.
    Settlements,
    /// What no strategy has a statement for is tried: once for each store, and not once for each strategy.
    Store,
    /// No lock stands before its claims.
    Unguarded,
    /// Two instances hold messages of one shard at a time, and one ends what the other has claimed.
    Sharing,
    /// A shard is in the hands of one instance at a time, so that only that one claims and settles there.
    Ownership,
    /// Messages of one key come in order.
    KeyOrder,
    /// A message that fails holds back those of its key.
    HeldKeys,
    /// A message that fails is overtaken by those of its key.
    Overtaking,
    /// Two transactions can write at a time.
    ParallelWrites,
    /// Its greatest payload is small enough to be tried.
    SmallPayload,
    /// A real server, where what happens at one time is made to happen at one time.
    Server,
    /// An outbox is opened there under every configuration.
    Opening,
    /// The limit of its server's packets is tried, which takes a payload of that size: once for each server.
    PacketLimit,
    /// It keeps notification requests.
    Notifications,
    /// A request has ten thousand recipients, which takes seconds: once for each store that has to be waited for.
    LargeFanOut,
    /// It has a step ledger.
    Steps,
    /// Timer events run on it.
    Timers,
    /// It has locks.
    Locks,
}

impl Need {
    /// Every need.
    pub const ALL: [Self; 19] = [
        Self::Claims,
        Self::Settlements,
        Self::Store,
        Self::Unguarded,
        Self::Sharing,
        Self::Ownership,
        Self::KeyOrder,
        Self::HeldKeys,
        Self::Overtaking,
        Self::ParallelWrites,
        Self::SmallPayload,
        Self::Server,
        Self::Opening,
        Self::PacketLimit,
        Self::Notifications,
        Self::LargeFanOut,
        Self::Steps,
        Self::Timers,
        Self::Locks,
    ];

    /// What it is called in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Settlements => "settlements",
            Self::Store => "store",
            Self::Unguarded => "unguarded",
            Self::Sharing => "sharing",
            Self::Ownership => "ownership",
            Self::KeyOrder => "key_order",
            Self::HeldKeys => "held_keys",
            Self::Overtaking => "overtaking",
            Self::ParallelWrites => "parallel_writes",
            Self::SmallPayload => "small_payload",
            Self::Server => "server",
            Self::Opening => "opening",
            Self::PacketLimit => "packet_limit",
            Self::Notifications => "notifications",
            Self::LargeFanOut => "large_fan_out",
            Self::Steps => "steps",
            Self::Timers => "timers",
            Self::Locks => "locks",
        }
    }
}
