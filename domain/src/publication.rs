use crate::{Headers, MessageId, OrderingKey, Payload, Reason};

/// A message of the outbox as a broker is given it: routed, and with everything that travels with its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publication {
    /// The id of the message. A broker, or a consumer behind it, knows a repetition by it.
    pub id: MessageId,
    /// Where it goes, in the words of the broker: a subject, an exchange with a routing key, a topic, a stream.
    pub place: String,
    /// The messages of one key arrive in the order in which they are published.
    pub key: Option<OrderingKey>,
    /// The attributes of its CloudEvent by their plain names, such as `source`; each adapter adds the prefix of its protocol.
    /// None if the event is not in binary mode.
    pub attributes: Vec<(String, String)>,
    /// The headers of the message, among them its trace context.
    pub headers: Headers,
    /// What the broker carries, and how a reader is to read it.
    pub body: Payload,
}

/// What a broker answered to one publication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Published {
    /// The broker has confirmed it, or had confirmed it before under the same id.
    Confirmed,
    /// The broker will never take it as it is: it is too large, or its place is no name that the broker could have.
    Refused(Reason),
    /// Its place takes nothing at the moment: there is no such stream, queue, exchange or topic, or it is full. The broker does not
    /// have it, and the same publication can be sent again.
    Unavailable(Reason),
    /// The broker did not confirm it. It may have arrived all the same; the same publication can be sent again.
    Unconfirmed(Reason),
    /// It was not sent, because there was no connection, no time, or an earlier one of its key was not confirmed. It can be sent later.
    Unsent(Reason),
}

impl Published {
    /// A refusal for good, and why.
    pub fn refused(why: impl std::fmt::Display) -> Self {
        Self::Refused(Reason::new(why))
    }

    /// A place that takes nothing at the moment, and why.
    pub fn unavailable(why: impl std::fmt::Display) -> Self {
        Self::Unavailable(Reason::new(why))
    }

    /// Whether the broker does not have it for certain, and may have it later.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Unconfirmed(_) | Self::Unsent(_))
    }

    /// A publication without a confirmation, and why.
    pub fn unconfirmed(why: impl std::fmt::Display) -> Self {
        Self::Unconfirmed(Reason::new(why))
    }

    /// A publication that was not sent, and why.
    pub fn unsent(why: impl std::fmt::Display) -> Self {
        Self::Unsent(Reason::new(why))
    }
}
