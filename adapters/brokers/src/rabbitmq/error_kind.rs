use lapin::{Error, ErrorKind, protocol::AMQPErrorKind};

/// What an error says of the publication that was sent.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum ChannelErrorKind {
    /// The broker closed the channel because it has no such exchange.
    NoExchange,
    /// The broker closed the channel because it will never take the publication. The sentence is the broker's own.
    Never(String),
    /// The broker closed the channel over one publication, but may take it later.
    NotNow(String),
    /// The queue is on a node of the broker's cluster that does not run.
    NodeDown(String),
    /// The channel or the connection is gone, and no publication is known to be the cause.
    Lost(String),
}

/// Codes of AMQP that end a channel over a publication which no repetition helps.
const NOT_FOUND: u16 = 404;
const PRECONDITION_FAILED: u16 = 406;
const CONTENT_TOO_LARGE: u16 = 311;

const NODE_IS_DOWN: &str = "is down or inaccessible";

impl ChannelErrorKind {
    pub(super) fn of(error: &Error) -> Self {
        let said = error.to_string();
        let ErrorKind::ProtocolError(protocol) = error.kind() else { return Self::Lost(said) };
        let said = protocol.get_message().to_string();
        match (protocol.kind(), protocol.get_id()) {
            (AMQPErrorKind::Soft(_), NOT_FOUND) if said.contains(NODE_IS_DOWN) => Self::NodeDown(said),
            (AMQPErrorKind::Soft(_), NOT_FOUND) => Self::NoExchange,
            (AMQPErrorKind::Soft(_), PRECONDITION_FAILED | CONTENT_TOO_LARGE) => Self::Never(said),
            (AMQPErrorKind::Soft(_), _) => Self::NotNow(said),
            (AMQPErrorKind::Hard(_), _) => Self::Lost(said),
        }
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::{AMQPError, AMQPHardError, AMQPSoftError};

    use super::*;

    fn meaning(kind: AMQPErrorKind, said: &str) -> ChannelErrorKind {
        ChannelErrorKind::of(&ErrorKind::ProtocolError(AMQPError::new(kind, said.into())).into())
    }

    #[test]
    fn a_missing_exchange_and_a_large_message_are_for_good_and_the_rest_passes() {
        let soft = |soft: AMQPSoftError| meaning(soft.into(), "no");
        assert_eq!(soft(AMQPSoftError::NOTFOUND), ChannelErrorKind::NoExchange);
        let down = "home node 'rabbit@two' of durable queue 'bills' in vhost '/' is down or inaccessible";
        assert_eq!(meaning(AMQPSoftError::NOTFOUND.into(), down), ChannelErrorKind::NodeDown(down.into()));
        assert_eq!(soft(AMQPSoftError::PRECONDITIONFAILED), ChannelErrorKind::Never("no".into()));
        assert_eq!(soft(AMQPSoftError::ACCESSREFUSED), ChannelErrorKind::NotNow("no".into()));
        let hard = AMQPErrorKind::Hard(AMQPHardError::CONNECTIONFORCED);
        assert_eq!(meaning(hard, "no"), ChannelErrorKind::Lost("no".into()));
    }
}
