use std::collections::BTreeMap;

use claimstream_domain::{
    Headers, Invalid, Timestamp,
    notification::{
        Channel, Content, NotificationRequest, Priority, RecipientReference, Requester, Sender, TemplateCall,
        consent::Category,
    },
};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{problem::Fault, shapes};

/// A notification: a request without its id, which follows from the call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewNotification, example = json!({
    "requester": {"type": "service", "id": "shop"},
    "recipients": [{"email": "ann@example.com"}, {"user": "u-7"}],
    "channels": ["email"],
    "content": {"title": "Paid", "body": "Thank you."},
}))]
pub(crate) struct NotificationBody {
    /// The requester.
    #[schema(value_type = shapes::Requester)]
    requester: Requester,
    /// Whom to tell; at least one.
    #[schema(value_type = Vec<shapes::Recipient>)]
    recipients: Vec<RecipientReference>,
    /// How; at least one, each once.
    #[schema(value_type = Vec<shapes::Channel>)]
    channels: Vec<Channel>,
    /// What to tell, in so many words.
    #[serde(default)]
    #[schema(value_type = Option<shapes::Content>)]
    content: Option<Content>,
    /// What to tell, by template; give exactly one of `content` and `template`.
    #[serde(default)]
    #[schema(value_type = Option<shapes::TemplateCall>)]
    template: Option<TemplateCall>,
    /// Not before this moment, in RFC 3339.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_at: Option<Timestamp>,
    /// Not before this many milliseconds have passed.
    #[serde(default)]
    delay_ms: Option<u64>,
    /// A message that is due later is skipped; in RFC 3339.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// The sender on some channels, in place of the provider's own.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, shapes::Sender>)]
    sender: BTreeMap<Channel, Sender>,
    /// What it is about, for recipients who choose; such as `marketing`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    category: Option<Category>,
    /// How urgent it is; `normal` if it says nothing.
    #[serde(default)]
    #[schema(value_type = shapes::Priority, required = false)]
    priority: Priority,
    /// A note for people.
    #[serde(default)]
    memo: Option<String>,
    /// Headers that travel with everything sent for it, such as `traceparent`.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    headers: Headers,
}

impl NotificationBody {
    /// The request with this id; refuses what could never be carried out, with its place.
    pub(crate) fn into_request(self, id: Uuid) -> Result<NotificationRequest, Fault> {
        let request = NotificationRequest {
            id,
            requester: self.requester,
            recipients: self.recipients,
            channels: self.channels,
            content: self.content,
            template: self.template,
            scheduled_at: self.scheduled_at,
            delay_ms: self.delay_ms,
            expires_at: self.expires_at,
            sender: self.sender,
            category: self.category,
            priority: self.priority,
            memo: self.memo,
            headers: self.headers,
        };
        match request.check() {
            Ok(()) => Ok(request),
            Err(invalid) => Err(Fault::at(place(&request, &invalid), invalid.to_string())),
        }
    }
}

/// The JSON pointer of that which is refused; the whole body if it is about several fields.
fn place(request: &NotificationRequest, invalid: &Invalid) -> String {
    if let Some(n) =
        request.recipients.iter().position(|recipient| recipient.check().as_ref() == Err(invalid))
    {
        return format!("/recipients/{n}");
    }
    let what = match invalid {
        Invalid::Empty { what }
        | Invalid::TooLong { what, .. }
        | Invalid::Character { what, .. }
        | Invalid::OutOfRange { what, .. }
        | Invalid::Malformed { what, .. } => *what,
        Invalid::Contradiction(why) if why.starts_with("the channel") => "channels",
        _ => return String::new(),
    };
    match what {
        "requester id" => "/requester/id".into(),
        sender if sender.starts_with("sender") => "/sender".into(),
        "template id" => "/template/id".into(),
        "recipients" | "channels" | "delay_ms" | "category" => format!("/{what}"),
        "content (title and body)" => "/content".into(),
        part if request.content.is_some() => format!("/content/{part}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use claimstream_domain::notification::{
        Attachment, RequestStatus, Template, TemplateText, TemplateVariable, TemplateVersion,
    };
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;

    fn body() -> Value {
        json!({
            "requester": {"type": "service", "id": "shop"}, "recipients": [{"user": "u-1"}],
            "channels": ["email"], "content": {"title": "Hello"},
        })
    }

    fn fault(edit: impl FnOnce(&mut Value)) -> (String, String) {
        let mut value = body();
        edit(&mut value);
        let body: NotificationBody = serde_json::from_value(value).unwrap();
        let fault = body.into_request(Uuid::nil()).unwrap_err();
        (fault.pointer.unwrap(), fault.detail)
    }

    #[test]
    fn a_fault_has_its_place() {
        let place = |edit: fn(&mut Value)| fault(edit).0;
        assert_eq!(place(|b| b["requester"]["id"] = json!("")), "#/requester/id");
        assert_eq!(place(|b| b["recipients"] = json!([])), "#/recipients");
        assert_eq!(place(|b| b["recipients"] = json!([{"user": "a"}, {"user": ""}])), "#/recipients/1");
        assert_eq!(place(|b| b["recipients"] = json!([{"language": "de"}])), "#/recipients/0");
        assert_eq!(place(|b| b["channels"] = json!([])), "#/channels");
        assert_eq!(place(|b| b["channels"] = json!(["sms", "sms"])), "#/channels");
        assert_eq!(place(|b| b["content"] = json!({})), "#/content");
        assert_eq!(place(|b| b["content"]["title"] = json!("")), "#/content/title");
        assert_eq!(place(|b| b["delay_ms"] = json!(u64::MAX)), "#/delay_ms");
        assert_eq!(place(|b| b["sender"] = json!({"email": {}})), "#/sender");
        assert_eq!(place(|b| b["content"]["html"] = json!("")), "#/content/html");
        assert_eq!(place(|b| b["template"] = json!({"id": "t"})), "#");
        assert_eq!(
            fault(|b| {
                b["content"] = Value::Null;
                b["template"] = json!({"id": ""});
            })
            .0,
            "#/template/id"
        );
    }

    /// The names that serde takes, as its refusal of another one lists them.
    fn fields<T: DeserializeOwned>(mut given: Value) -> BTreeSet<String> {
        given["no such field"] = json!(1);
        let Err(refused) = serde_json::from_value::<T>(given) else { panic!("it takes every field") };
        let refused = refused.to_string();
        let (_, listed) = refused.split_once("expected").unwrap();
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn properties<T: PartialSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(T::schema()).unwrap();
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_documented_fields_are_those_that_are_read() {
        assert_eq!(properties::<NotificationBody>(), fields::<NotificationBody>(json!({})));
        assert_eq!(properties::<shapes::Content>(), fields::<Content>(json!({})));
        assert_eq!(properties::<shapes::Attachment>(), fields::<Attachment>(json!({})));
        assert_eq!(properties::<shapes::Sender>(), fields::<Sender>(json!({})));
        assert_eq!(properties::<shapes::TemplateCall>(), fields::<TemplateCall>(json!({})));
        assert_eq!(properties::<shapes::Template>(), fields::<Template>(json!({})));
        assert_eq!(properties::<shapes::TemplateText>(), fields::<TemplateText>(json!({})));
        assert_eq!(properties::<shapes::TemplateVariable>(), fields::<TemplateVariable>(json!({})));
        assert_eq!(properties::<shapes::TemplateVersion>(), fields::<TemplateVersion>(json!({})));
        assert_eq!(properties::<shapes::Requester>(), fields::<Requester>(json!({})));
        let mut of_request = fields::<NotificationRequest>(json!({}));
        assert!(of_request.remove("id"));
        assert_eq!(properties::<NotificationBody>(), of_request);
    }

    #[test]
    fn the_documented_words_are_those_of_the_domain() {
        let words =
            |schema: Value| -> Vec<String> { serde_json::from_value(schema["enum"].clone()).unwrap() };
        let documented = words(serde_json::to_value(shapes::Channel::schema()).unwrap());
        assert_eq!(documented, Channel::ALL.map(|channel| channel.name().to_owned()));
        let documented = words(serde_json::to_value(shapes::Priority::schema()).unwrap());
        assert_eq!(documented, Priority::ALL.map(|priority| priority.name().to_owned()));
        let documented = words(serde_json::to_value(shapes::RecordedStatus::schema()).unwrap());
        let recorded = RequestStatus::ALL.into_iter().filter(|status| status.is_recorded());
        assert_eq!(documented, recorded.map(|status| status.name().to_owned()).collect::<Vec<_>>());
    }
}
