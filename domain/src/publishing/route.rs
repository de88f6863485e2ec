use super::{CloudEvent, EventDescription, Origin, RouteTemplate};
use crate::{Message, Publication, Reason};

/// Where the messages of a queue go, and as what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The place in the words of the broker, filled for each message.
    pub place: RouteTemplate,
    /// Whether a message is a CloudEvent, and how one is written.
    pub events: EventMode,
}

/// How a message is written for a broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventMode {
    /// The payload as it is, and no CloudEvent.
    Plain,
    /// A CloudEvent in binary mode: the payload as it is, and its attributes next to it.
    Binary(EventDescription),
    /// A CloudEvent in structured mode: one JSON that holds attributes and payload.
    Structured(EventDescription),
}

impl Route {
    /// A message as the broker gets it. The reason says why it can never be published on this route.
    pub fn publication(&self, message: &Message) -> Result<Publication, Reason> {
        let origin = Origin::of(message)?;
        let facts = origin.facts(message);
        let place = self.place.fill(facts)?;
        let event = |description: &EventDescription| {
            description.event(facts, message.ordering_key.as_ref(), &origin.headers, &message.payload)
        };
        let (attributes, body) = match &self.events {
            EventMode::Plain => (Vec::new(), message.payload.clone()),
            EventMode::Binary(description) => (attributes(&event(description)?), message.payload.clone()),
            EventMode::Structured(description) => {
                (Vec::new(), event(description)?.to_json(&message.payload)?)
            }
        };
        let (id, key) = (origin.id, message.ordering_key.clone());
        Ok(Publication { id, place, key, attributes, headers: origin.headers, body })
    }
}

fn attributes(event: &CloudEvent) -> Vec<(String, String)> {
    event.attributes().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{Headers, MessageId, Payload, QueueName, Shard, publishing::copy_for};

    fn message() -> Message {
        let mut headers = Headers::new();
        headers.insert("region", "eu").unwrap();
        Message {
            id: MessageId::new(Uuid::from_u128(7)),
            queue: QueueName::new("orders").unwrap(),
            shard: Shard::from_number(0),
            ordering_key: "account-7".parse().ok(),
            headers,
            payload: Payload::json("{\"order\":7}"),
        }
    }

    fn route(place: &str, mode: fn(EventDescription) -> EventMode) -> Route {
        let template = |text: &str| RouteTemplate::new(text).unwrap();
        let events =
            mode(EventDescription { source: template("/{queue}"), kind: template("paid"), subject: None });
        Route { place: template(place), events }
    }

    #[test]
    fn a_message_is_routed_as_it_is() {
        let plain = route("{queue}.{header:region}", |_| EventMode::Plain).publication(&message()).unwrap();
        assert_eq!(
            (plain.place.as_str(), plain.id, &plain.body),
            ("orders.eu", message().id, &message().payload)
        );
        assert_eq!((plain.key, plain.headers), (message().ordering_key, message().headers));
        assert!(plain.attributes.is_empty());
    }

    #[test]
    fn an_event_has_its_attributes_next_to_it_or_in_it() {
        let binary = route("orders", EventMode::Binary).publication(&message()).unwrap();
        assert_eq!(binary.body, message().payload);
        assert!(binary.attributes.contains(&("source".into(), "/orders".into())));
        let structured = route("orders", EventMode::Structured).publication(&message()).unwrap();
        assert!(structured.attributes.is_empty());
        assert_eq!(structured.body.content_type(), CloudEvent::JSON);
        let json: serde_json::Value = serde_json::from_slice(structured.body.bytes()).unwrap();
        assert_eq!((&json["data"]["order"], &json["partitionkey"]), (&7.into(), &"account-7".into()));
    }

    #[test]
    fn a_copy_is_published_as_the_message_it_is_a_copy_of() {
        let route = route("{queue}", EventMode::Binary);
        let copy = copy_for(&message(), &QueueName::new("orders.nats").unwrap()).unwrap();
        let (id, queue, headers) = (copy.id, copy.queue, copy.headers);
        let copy = Message { id, queue, headers, ..message() };
        assert_eq!(route.publication(&copy), route.publication(&message()));
    }

    #[test]
    fn a_message_without_what_its_route_needs_is_refused() {
        let why = route("{header:tenant}", |_| EventMode::Plain).publication(&message()).unwrap_err();
        assert!(why.as_str().contains("no header \"tenant\""), "{why}");
    }
}
