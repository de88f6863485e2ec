use uuid::Uuid;

use super::{FanOut, NotificationMessage, NotificationRequest, REQUEST_QUEUE};
use crate::{Invalid, MessageId, NewMessage, Payload, QueueName};

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
    let payload = json("notification message", message)?;
    Ok(NewMessage::new(
        MessageId::new(message.id),
        QueueName::new(message.priority.message_queue())?,
        payload,
    ))
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
