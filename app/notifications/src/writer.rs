use std::collections::{HashMap, HashSet};

use claimstream_domain::{
    Reason,
    notification::{Channel, Content, NotificationRequest, Recipient, Template},
};
use claimstream_ports::{StoreError, notification::TemplateSource};

/// The variable that stands for the link to unsubscribe.
const UNSUBSCRIBE_URL: &str = "unsubscribe_url";

/// Writes what each recipient reads: the request's own content, or its template filled in.
///
/// Templates are read once for each channel and language of a chunk and filled in anew for every recipient, so that a
/// change of a template holds from the next chunk on and no recipient reads a text that was written for another.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    request: &'a NotificationRequest,
    templates: HashMap<(Channel, Option<String>), Option<Template>>,
    /// Why nothing can be written to anybody.
    refused: Option<Reason>,
}

impl<'a> Writer<'a> {
    /// Reads the templates that these recipients need.
    pub(super) async fn open(
        source: &dyn TemplateSource,
        request: &'a NotificationRequest,
        recipients: &[Recipient],
    ) -> Result<Self, StoreError> {
        let (mut templates, mut refused) = (HashMap::new(), None);
        if let Some(call) = &request.template {
            if let Some(variables) = source.variables(&call.id).await? {
                refused = call.refuse_surplus(&variables).err().map(Reason::new);
            }
            for (channel, language) in needed(request, recipients) {
                let language = language.map(str::to_owned);
                let template = source.template(&call.id, channel, language.clone()).await?;
                templates.insert((channel, language), template);
            }
        }
        Ok(Self { request, templates, refused })
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
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        match (&self.request.content, &self.request.template) {
            (Some(content), _) => Ok(content.clone()),
            (None, Some(call)) => {
                let template = self.templates.get(&(channel, recipient.language.clone()));
                let template =
                    template.and_then(Option::as_ref).ok_or_else(|| no_template(&call.id, channel))?;
                let mut call = call.clone();
                let link = || link.unwrap_or_default().to_owned();
                call.params.entry(UNSUBSCRIBE_URL.to_owned()).or_insert_with(link);
                call.refuse_missing(template).map_err(Reason::new)?;
                template.render(&call.params).map_err(Reason::new)
            }
            (None, None) => Err(Reason::new("the request has neither content nor a template")),
        }
    }
}

/// The channels and languages in which somebody can be written to.
fn needed<'a>(
    request: &NotificationRequest,
    recipients: &'a [Recipient],
) -> HashSet<(Channel, Option<&'a str>)> {
    let pairs = recipients.iter().flat_map(|recipient| request.channels.iter().map(move |c| (recipient, *c)));
    let reachable = pairs.filter(|(recipient, channel)| recipient.address(*channel).is_some());
    reachable.map(|(recipient, channel)| (channel, recipient.language.as_deref())).collect()
}

fn no_template(id: &str, channel: Channel) -> Reason {
    Reason::new(format_args!("there is no template {id:?} for {channel}"))
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::{Requester, RequesterKind, TemplateCall};
    use claimstream_ports::mock::MockTemplateSource;
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

    fn greeting(channel: Channel, language: Option<String>) -> Option<Template> {
        let body = match (channel, language.as_deref()) {
            (Channel::Email, Some("de")) => "Hallo {{name}}",
            (Channel::Email, _) => "Hello {{name}}",
            _ => return None,
        };
        Some(Template { title: None, body: body.into() })
    }

    #[test]
    fn a_template_is_read_once_for_each_channel_and_language_that_is_needed() {
        let mut source = MockTemplateSource::new();
        source.expect_variables().returning(|_| Ok(None));
        source.expect_template().times(2).returning(|_, channel, language| Ok(greeting(channel, language)));
        let recipients = [reader("a", None), reader("b", Some("de")), reader("c", None)];
        let request = request("Ann");
        let writer = finish(Writer::open(&source, &request, &recipients)).unwrap();
        let body = |n: usize| writer.write(&recipients[n], Channel::Email, None).unwrap().body.unwrap();
        assert_eq!([body(0), body(1), body(2)], ["Hello Ann", "Hallo Ann", "Hello Ann"]);
    }

    #[test]
    fn what_one_request_fills_in_is_never_read_by_another() {
        let mut source = MockTemplateSource::new();
        source.expect_variables().returning(|_| Ok(None));
        source.expect_template().returning(|_, channel, language| Ok(greeting(channel, language)));
        let recipients = [reader("a", None)];
        let body = |name| {
            let request = request(name);
            let writer = finish(Writer::open(&source, &request, &recipients)).unwrap();
            writer.write(&recipients[0], Channel::Email, None).unwrap().body
        };
        assert_eq!(body("Ann").as_deref(), Some("Hello Ann"));
        assert_eq!(body("Bob").as_deref(), Some("Hello Bob"));
    }

    #[test]
    fn a_missing_template_and_a_missing_value_are_reasons() {
        let mut source = MockTemplateSource::new();
        source.expect_variables().returning(|_| Ok(None));
        source.expect_template().returning(|_, channel, language| Ok(greeting(channel, language)));
        let recipients = [Recipient { device_token: Some("d".into()), ..reader("a", None) }];
        let mut request = request("Ann");
        request.template.as_mut().unwrap().params.clear();
        let writer = finish(Writer::open(&source, &request, &recipients)).unwrap();
        let why = |channel| writer.write(&recipients[0], channel, None).unwrap_err().to_string();
        assert_eq!(why(Channel::Push), "there is no template \"t\" for push");
        assert!(why(Channel::Email).contains("needs a value for \"name\""));
    }

    #[test]
    fn a_surplus_parameter_is_a_reason_for_everybody() {
        let mut source = MockTemplateSource::new();
        source.expect_variables().returning(|_| Ok(Some(["name".to_owned()].into())));
        source.expect_template().returning(|_, channel, language| Ok(greeting(channel, language)));
        let (recipients, mut request) = ([reader("a", None)], request("Ann"));
        let written = |request: &NotificationRequest| {
            finish(Writer::open(&source, request, &recipients)).unwrap().write(
                &recipients[0],
                Channel::Email,
                None,
            )
        };
        assert!(written(&request).is_ok());
        request.template.as_mut().unwrap().params.insert("nmae".into(), "Ann".into());
        assert_eq!(written(&request).unwrap_err().as_str(), "the template \"t\" has no variable \"nmae\"");
    }
}
