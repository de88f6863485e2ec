use crate::{Headers, OrderingKey, Payload};

/// A message as a consumer gets it from a broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// The id that the sender gave it: the same for each repetition, whatever broker repeated it. Of an event that has no other id than that of
    /// its CloudEvent, and whose id is no UUID, it is the source of the event and the id, because an id is unique within its source alone. Where
    /// both together are longer than the 255 bytes that an inbox takes, it is a UUID that is made from them.
    pub id: String,
    /// Where it came from, in the words of the broker.
    pub place: String,
    /// The ordering key it was published with.
    pub key: Option<OrderingKey>,
    /// The attributes of its CloudEvent by their plain names; none if it was not sent as one.
    pub attributes: Vec<(String, String)>,
    /// The headers that travelled with it, among them its trace context.
    pub headers: Headers,
    /// What it carries.
    pub body: Payload,
}
