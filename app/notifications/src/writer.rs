use std::sync::Arc;

use claimstream_domain::{
    Reason,
    notification::{Channel, Content, NotificationRequest, Recipient},
};
use claimstream_ports::StoreError;

use super::templates::{CompiledTemplate, CompiledTemplates, no_template};

/// Writes what each recipient reads: the request's own content, or its template filled in.
///
/// All recipients of a request read the same version of its template: the one that the first step of the fan-out has found.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    request: &'a NotificationRequest,
    /// The template, or why nothing can be written to a recipient.
    template: Option<Result<Arc<CompiledTemplate>, Reason>>,
}

impl<'a> Writer<'a> {
    /// Finds the template of a request: the version with this number, or the one that is sent now.
    pub(super) async fn open(
        templates: &CompiledTemplates,
        request: &'a NotificationRequest,
        number: Option<u32>,
    ) -> Result<Self, StoreError> {
        let Some(call) = &request.template else { return Ok(Self { request, template: None }) };
        let template = match templates.find(&call.id, number).await? {
            None => None,
            Some(Err(invalid)) => {
                let why = format_args!("the template {:?} cannot be used: {invalid}", call.id);
                Some(Err(Reason::new(why)))
            }
            Some(Ok(template)) => match template.refuse_surplus(call) {
                Ok(()) => Some(Ok(template)),
                Err(fault) => Some(Err(Reason::new(fault))),
            },
        };
        Ok(Self { request, template })
    }

    /// The number of the version that it writes, where the source has versions.
    pub(super) fn version(&self) -> Option<u32> {
        let number = self.template.as_ref()?.as_ref().ok()?.version().number;
        (number > 0).then_some(number)
    }

    /// Writes to a recipient on a channel, or says why nothing can be written.
    ///
    /// A template reads the `link` to unsubscribe as `unsubscribe_url`; it has no other value where there is none.
    pub(super) fn write(
        &self,
        recipient: &Recipient,
        channel: Channel,
        link: Option<&str>,
    ) -> Result<Content, Reason> {
        match (&self.request.content, &self.request.template, &self.template) {
            (Some(content), ..) => Ok(content.clone()),
            (None, Some(call), Some(Ok(template))) => template.write(call, recipient, channel, link),
            (None, Some(_), Some(Err(reason))) => Err(reason.clone()),
            (None, Some(call), None) => Err(no_template(&call.id, channel)),
            (None, None, _) => Err(Reason::new("the request has neither content nor a template")),
        }
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::{Requester, RequesterKind, TemplateCall, TemplateVersion};
    use claimstream_ports::mock::MockTemplateSource;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::tests::finish;

    fn request(name: &str) -> NotificationRequest {
        NotificationRequest {
            id: Uuid::from_u128(7),
            requester: Requester { kind: RequesterKind::Service, id: "shop".into() },
            recipients: vec![],
            channels: vec![Channel::Email, Channel::Push],
            content: None,
            template: Some(TemplateCall { id: "t".into(), params: [("name".into(), name.into())].into() }),
            scheduled_at: None,
            delay_ms: None,
            expires_at: None,
            sender: Default::default(),
            category: None,
            priority: Default::default(),
            memo: None,
            headers: Default::default(),
        }
    }

    fn reader(id: &str, language: Option<&str>) -> Recipient {
        Recipient {
            email: Some(format!("{id}@example.com")),
            language: language.map(str::to_owned),
            ..Recipient::user(id)
        }
    }

    fn greeting(id: &str, number: u32, hello: &str) -> Option<Arc<TemplateVersion>> {
        let texts = json!({"email": {"en": {"body": format!("{hello} {{{{name}}}}")}, "de": {"body": "Hallo {{name}}"}}});
        let version =
            json!({"id": id, "number": number, "template": {"default_language": "en", "texts": texts}});
        Some(Arc::new(serde_json::from_value(version).unwrap()))
    }

    fn templates() -> CompiledTemplates {
        let mut source = MockTemplateSource::new();
        source.expect_published().returning(|id| Ok(greeting(id, 2, "Hello")));
        source.expect_version().returning(|id, number| Ok(greeting(id, number, "Hi")));
        CompiledTemplates::of(Arc::new(source))
    }

    fn body(writer: &Writer<'_>, language: Option<&str>) -> Result<String, Reason> {
        writer.write(&reader("a", language), Channel::Email, None).map(|content| content.body.unwrap())
    }

    #[test]
    fn each_recipient_reads_its_language_of_the_version_that_was_fixed() {
        let (templates, request) = (templates(), request("Ann"));
        let newest = finish(Writer::open(&templates, &request, None)).unwrap();
        assert_eq!(newest.version(), Some(2));
        let read = [None, Some("de-AT"), Some("ko")].map(|language| body(&newest, language).unwrap());
        assert_eq!(read, ["Hello Ann", "Hallo Ann", "Hello Ann"]);
        let fixed = finish(Writer::open(&templates, &request, Some(1))).unwrap();
        assert_eq!((fixed.version(), body(&fixed, None).unwrap().as_str()), (Some(1), "Hi Ann"));
    }

    #[test]
    fn what_one_request_fills_in_is_never_read_by_another() {
        let templates = templates();
        for name in ["Ann", "Bob"] {
            let request = request(name);
            let writer = finish(Writer::open(&templates, &request, None)).unwrap();
            assert_eq!(body(&writer, None).unwrap(), format!("Hello {name}"));
        }
    }

    #[test]
    fn a_missing_template_a_missing_value_and_a_surplus_one_are_reasons() {
        let templates = templates();
        let why = |edit: fn(&mut TemplateCall), channel| {
            let mut request = request("Ann");
            edit(request.template.as_mut().unwrap());
            let writer = finish(Writer::open(&templates, &request, None)).unwrap();
            writer.write(&reader("a", None), channel, None).unwrap_err().to_string()
        };
        assert_eq!(why(|_| (), Channel::Push), "there is no template \"t\" for push");
        assert!(why(|call| call.params.clear(), Channel::Email).contains("needs a value for \"name\""));
        let surplus = why(|call| drop(call.params.insert("nmae".into(), "Ann".into())), Channel::Email);
        assert_eq!(surplus, "the template \"t\" has no variable \"nmae\"");
        let mut empty = MockTemplateSource::new();
        empty.expect_published().returning(|_| Ok(None));
        let (empty, request) = (CompiledTemplates::of(Arc::new(empty)), request("Ann"));
        let writer = finish(Writer::open(&empty, &request, None)).unwrap();
        assert_eq!(body(&writer, None).unwrap_err().as_str(), "there is no template \"t\" for email");
    }
}
