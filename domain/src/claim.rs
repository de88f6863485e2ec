use std::{fmt, time::Duration};

use uuid::Uuid;

use crate::{ByteBudget, Invalid, Lease, Message, MessageId, QueueName, Reason, RunPlace, Shard, StreamId};

/// What a relay asks of a locking strategy: up to `limit` due messages of one queue, leased to `owner`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimRequest {
    /// Which queue.
    pub queue: QueueName,
    /// The most messages wanted, at least 1 and no more than [`MOST`](Self::MOST).
    pub limit: u32,
    /// The most bytes of payloads wanted. The oldest message passes whatever it weighs.
    pub budget: ByteBudget,
    /// How long they are wanted for.
    pub lease: Lease,
    /// A fresh id, used for this call and never again; it is the fence.
    pub claim: ClaimId,
    /// The claiming instance, as a reader of the table sees it.
    pub owner: Owner,
    /// The stream that takes whole runs of a key, where the store can hand them out. None takes one message of a key at a time.
    pub runs: Option<StreamId>,
}

impl ClaimRequest {
    /// The most messages of one claim, and of one settlement: what a statement of any database can name.
    pub const MOST: u32 = 10_000;
}

/// A message that was claimed, with the proof that the claim is ours until its lease ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claimed {
    /// The message.
    pub message: Message,
    /// What a settlement or a renewal must show.
    pub receipt: Receipt,
    /// How often it has been claimed, this time included; 1 the first time.
    pub attempt: u32,
    /// Why the attempt before failed, if it said so.
    pub last_error: Option<Reason>,
    /// Its place among the messages of its key that are in hand.
    pub place: RunPlace,
    /// How long it [waited](crate::waited) for this claim, on the store's clock. It is for people: nothing is decided by it.
    pub waited: Duration,
}

/// What a settlement must show: which message, and the claim it was taken by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Receipt {
    /// The message.
    pub message: MessageId,
    /// Its queue.
    pub queue: QueueName,
    /// Its shard.
    pub shard: Shard,
    /// The claim that took it: the fence.
    pub claim: ClaimId,
    /// The store's own note of where it put the message; opaque to everybody else.
    pub locator: Locator,
}

/// A number by which a store finds a claimed message again; it means nothing outside the store that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Locator(pub i64);

/// The fence: an id made by the client for one claim call and stamped on every message that the call takes.
///
/// Its first half names the instance and its second half counts that instance's calls, so that a person can find the
/// owner of a row and no claim id is ever used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(Uuid);

impl ClaimId {
    /// The id of an instance's `sequence`-th claim call.
    pub fn new(instance: InstanceId, sequence: u64) -> Self {
        Self(Uuid::from_u64_pair(instance.0, sequence))
    }

    /// The id with these bytes, as a store read it back.
    pub fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    /// The id as a UUID-shaped value of sixteen bytes.
    pub fn uuid(self) -> Uuid {
        self.0
    }

    /// The instance that made it.
    pub fn instance(self) -> InstanceId {
        InstanceId(self.0.as_u64_pair().0)
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (instance, sequence) = self.0.as_u64_pair();
        write!(f, "{instance:016x}/{sequence}")
    }
}

impl fmt::Debug for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One run of one process, drawn at random at start and never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstanceId(pub u64);

/// The holder of a claim, for people only: nothing is ever decided by it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Owner {
    instance: InstanceId,
    label: Box<str>,
}

impl Owner {
    /// The longest label, in bytes.
    pub const MAX_LABEL_BYTES: usize = 64;

    /// Takes a label such as `host/pid`; refuses one that is empty or longer than 64 bytes.
    pub fn new(instance: InstanceId, label: &str) -> Result<Self, Invalid> {
        Invalid::unless_length("owner label", label, Self::MAX_LABEL_BYTES)?;
        Ok(Self { instance, label: label.into() })
    }

    /// An owner whose label is the word `process` and the process's id, such as `process 4711`.
    pub fn of_process(instance: InstanceId, process: u32) -> Self {
        Self { instance, label: format!("process {process}").into() }
    }

    /// The run of the process.
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// The label.
    pub fn label(&self) -> &str {
        &self.label
    }
}
