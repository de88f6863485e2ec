use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{FanOut, FanOutEnd, NotificationMessage, NotificationRequest, REQUEST_QUEUE};
use crate::{Due, Invalid, MessageId, NewMessage, Payload, QueueName};

/// The outbox message that sets a request going: it bears the request's id and headers, is due when the request says, and is in
/// the queue of its priority.
///
/// Refuses what [`NotificationRequest::check`] refuses.
pub fn request_message(request: &NotificationRequest) -> Result<NewMessage, Invalid> {
    request.check()?;
    let mut message = fan_out_message(&FanOut::begin(request.id))?;
    message.due = request.due();
    message.queue = QueueName::new(request.priority.request_queue())?;
    Ok(message.with_headers(request.headers.clone()))
}

/// The outbox message that fans a request out once more from its beginning, due at once: a repair of what was lost.
///
/// Its id, and those of the steps that follow, are made from the repair's as well, so that no message of an earlier fan-out stands in their
/// way.
pub fn repair_message(request: &NotificationRequest, repair: Uuid) -> Result<NewMessage, Invalid> {
    let first = request_message(request)?;
    let repeated = fan_out_message(&FanOut::repeat(request.id, repair))?;
    Ok(NewMessage { id: repeated.id, payload: repeated.payload, due: Due::Now, ..first })
}

/// The outbox message that continues a fan-out from a checkpoint, due at once, in the queue of normal requests.
///
/// Its id is the request's id at the beginning and is made from the request's id and the place afterwards, so that it
/// is the same however often the checkpoint is reached.
pub fn fan_out_message(checkpoint: &FanOut) -> Result<NewMessage, Invalid> {
    let payload = json("fan-out checkpoint", checkpoint)?;
    Ok(NewMessage::new(step_id(checkpoint), QueueName::new(REQUEST_QUEUE)?, payload))
}

/// The outbox message that carries a notification to its provider, due at once, in the queue of its priority.
///
/// It bears the notification's id, so that a store which has it already takes no second one.
pub fn delivery_message(message: &NotificationMessage) -> Result<NewMessage, Invalid> {
    delivery(message, json("notification message", message)?)
}

/// The same for a message of a step that ends so. It says whether more steps follow, for the case that the step's own note is lost.
pub fn delivery_message_of(message: &NotificationMessage, end: &FanOutEnd) -> Result<NewMessage, Invalid> {
    match end {
        FanOutEnd::More => delivery(message, json("notification message", &OfStep { message, more: true })?),
        FanOutEnd::Done | FanOutEnd::Failed(_) => delivery_message(message),
    }
}

fn delivery(message: &NotificationMessage, payload: Payload) -> Result<NewMessage, Invalid> {
    let queue = QueueName::new(message.priority.message_queue())?;
    Ok(NewMessage::new(MessageId::new(message.id), queue, payload))
}

/// How the step ended that a message is of, by its payload. One that says nothing is of the last step, as the messages of older processes are.
pub fn end_of_step(payload: &[u8]) -> FanOutEnd {
    match serde_json::from_slice(payload) {
        Ok(Mark { more: true }) => FanOutEnd::More,
        Ok(Mark { more: false }) | Err(_) => FanOutEnd::Done,
    }
}

/// A message with what it says of its step.
#[derive(Serialize)]
struct OfStep<'a> {
    #[serde(flatten)]
    message: &'a NotificationMessage,
    more: bool,
}

/// What a message says of its step.
#[derive(Deserialize)]
struct Mark {
    /// More steps follow.
    #[serde(default)]
    more: bool,
}

fn step_id(checkpoint: &FanOut) -> MessageId {
    if *checkpoint == FanOut::begin(checkpoint.request) {
        return MessageId::new(checkpoint.request);
    }
    MessageId::new(Uuid::new_v5(&checkpoint.request, checkpoint.place_id().as_bytes()))
}

fn json(what: &'static str, value: &impl serde::Serialize) -> Result<Payload, Invalid> {
    let text = serde_json::to_vec(value).map_err(|e| Invalid::Malformed { what, why: e.to_string() })?;
    Ok(Payload::json(text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{MESSAGE_QUEUE, Priority},
        *,
    };
    use crate::{Due, Timestamp};

    fn request() -> NotificationRequest {
        let json = r#"{"id":"018f6b2e-0000-7000-8000-000000000001","requester":{"type":"service","id":"shop"},
            "recipients":[{"user":"u-1"}],"channels":["email"],"content":{"title":"Hello"}}"#;
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_request_becomes_the_first_step_of_its_fan_out() {
        let message = request_message(&request()).unwrap();
        assert_eq!(message.id.uuid(), request().id);
        assert_eq!(message.queue.as_str(), REQUEST_QUEUE);
        let checkpoint: FanOut = serde_json::from_slice(message.payload.bytes()).unwrap();
        assert_eq!(checkpoint, FanOut::begin(request().id));
    }

    #[test]
    fn a_priority_has_queues_of_its_own() {
        let request = NotificationRequest { priority: Priority::High, ..request() };
        assert_eq!(request_message(&request).unwrap().queue.as_str(), Priority::High.request_queue());
    }

    #[test]
    fn a_request_hands_its_trace_on() {
        let mut request = request();
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        request.headers.set_trace(parent, Some("vendor=1")).unwrap();
        let read: NotificationRequest =
            serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        assert_eq!(request_message(&read).unwrap().headers, request.headers);
        assert_eq!(request.headers.get("traceparent"), Some(parent));
    }

    #[test]
    fn a_request_is_due_when_it_says() {
        let due = |edit: fn(&mut NotificationRequest)| {
            let mut request = request();
            edit(&mut request);
            request_message(&request).map(|message| message.due)
        };
        assert_eq!(due(|_| ()), Ok(Due::Now));
        assert_eq!(due(|r| r.delay_ms = Some(1_500)), Ok(Due::After(Duration::from_millis(1_500))));
        assert_eq!(due(|r| r.scheduled_at = Some(Timestamp::MAX)), Ok(Due::At(Timestamp::MAX)));
        assert!(due(|r| r.recipients.clear()).is_err());
    }

    #[test]
    fn every_step_has_an_id_of_its_own_and_the_same_each_time() {
        let begin = FanOut::begin(request().id);
        let id = |checkpoint: FanOut| fan_out_message(&checkpoint).unwrap().id;
        let after = |key: &str| begin.clone().after(key.into());
        let all = [
            id(begin.clone()),
            id(after("a")),
            id(begin.clone().past(1)),
            id(after("b")),
            id(begin.clone().past(1).after("a".into())),
        ];
        assert!((1..5).all(|n| !all[..n].contains(&all[n])));
        assert_eq!(all[1], id(after("a")));
    }

    #[test]
    fn a_repair_begins_at_once_under_an_id_of_its_own_in_the_queue_of_the_request() {
        let later = NotificationRequest { delay_ms: Some(1_500), priority: Priority::High, ..request() };
        let repair = Uuid::from_u128(9);
        let made = repair_message(&later, repair).unwrap();
        let first = request_message(&later).unwrap();
        assert_eq!((made.due, &made.queue, &made.headers), (Due::Now, &first.queue, &first.headers));
        assert_ne!(made.id, first.id);
        assert_ne!(made.id, repair_message(&later, Uuid::from_u128(10)).unwrap().id);
        let checkpoint: FanOut = serde_json::from_slice(made.payload.bytes()).unwrap();
        assert_eq!(checkpoint, FanOut::repeat(later.id, repair));
    }

    #[test]
    fn a_message_says_that_more_steps_follow_and_nothing_otherwise() {
        let message = NotificationMessage::erased(
            Uuid::from_u128(8),
            Uuid::from_u128(7),
            crate::notification::Channel::Sms,
        );
        let more = delivery_message_of(&message, &FanOutEnd::More).unwrap();
        let last = delivery_message_of(&message, &FanOutEnd::Done).unwrap();
        assert_eq!(last, delivery_message(&message).unwrap());
        assert_eq!((more.id, &more.queue), (last.id, &last.queue));
        assert_eq!(end_of_step(more.payload.bytes()), FanOutEnd::More);
        assert_eq!(end_of_step(last.payload.bytes()), FanOutEnd::Done);
        assert_eq!(end_of_step(b"what is this"), FanOutEnd::Done);
        assert_eq!(serde_json::from_slice::<NotificationMessage>(more.payload.bytes()).unwrap(), message);
    }

    #[test]
    fn a_notification_keeps_its_id_and_reads_back() {
        let message = NotificationMessage {
            id: Uuid::from_u128(8),
            request_id: Uuid::from_u128(7),
            channel: crate::notification::Channel::Sms,
            recipient: "user:a".into(),
            address: "+491".into(),
            category: None,
            priority: Default::default(),
            unsubscribe_url: None,
            time_zone: None,
            content: Default::default(),
            sender: None,
            expires_at: None,
            digest: None,
            traceparent: None,
        };
        let made = delivery_message(&message).unwrap();
        assert_eq!((made.id.uuid(), made.queue.as_str()), (message.id, MESSAGE_QUEUE));
        assert_eq!(serde_json::from_slice::<NotificationMessage>(made.payload.bytes()).unwrap(), message);
    }
}
