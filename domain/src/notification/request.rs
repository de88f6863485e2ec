use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Channel, Content, Priority, RecipientReference, Sender, TemplateCall, consent::Category};
use crate::{Due, Fingerprint, Headers, Invalid, Reason, Timestamp};

/// A wish to notify recipients, as an application hands it in; one line of a JSONL file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotificationRequest {
    /// The request's identity. One that is handed in again is taken once.
    pub id: Uuid,
    /// The requester.
    pub requester: Requester,
    /// Whom to tell; at least one.
    pub recipients: Vec<RecipientReference>,
    /// How; at least one, each once.
    pub channels: Vec<Channel>,
    /// What to tell, in so many words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// What to tell, by template; exactly one of `content` and `template` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateCall>,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    /// Not before this many milliseconds have passed since it was taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Not after this moment: a message that is due later is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The sender on some of its channels, in place of the one that a provider was set up with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sender: BTreeMap<Channel, Sender>,
    /// What it is about; recipients opt out of categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// Headers that travel with everything sent for it, such as the W3C trace context of the requester.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

/// The requester of a notification.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requester {
    /// What kind of requester.
    #[serde(rename = "type")]
    pub kind: RequesterKind,
    /// Which one.
    pub id: String,
}

/// What kind of requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequesterKind {
    /// A user of the application.
    User,
    /// An operator of the application.
    Admin,
    /// Another service.
    Service,
}

impl NotificationRequest {
    /// Refuses a request that could never be carried out, with the field that is wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Invalid::unless_length("requester id", &self.requester.id, 128)?;
        self.check_recipients()?;
        self.check_channels()?;
        self.check_content()?;
        self.check_senders()?;
        self.category.as_ref().map_or(Ok(()), Category::check)?;
        self.check_time()
    }

    /// When its outbox message is due.
    pub fn due(&self) -> Due {
        match (self.scheduled_at, self.delay_ms) {
            (Some(at), _) => Due::At(at),
            (None, Some(delay)) => Due::After(Duration::from_millis(delay)),
            (None, None) => Due::Now,
        }
    }

    /// Distinguishes this request from another one under the same id.
    ///
    /// It is taken over the request's canonical form: its fields in one order, absent ones left out, its channels sorted. The
    /// trace context is left out, because a caller that asks again does so in another span. The order of recipients counts.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut canonical = self.clone();
        canonical.channels.sort_unstable();
        canonical.headers = self.headers.without_trace();
        Fingerprint::of_json(&canonical)
    }

    fn check_recipients(&self) -> Result<(), Invalid> {
        if self.recipients.is_empty() {
            return Err(Invalid::Empty { what: "recipients" });
        }
        self.recipients.iter().try_for_each(RecipientReference::check)
    }

    fn check_channels(&self) -> Result<(), Invalid> {
        if self.channels.is_empty() {
            return Err(Invalid::Empty { what: "channels" });
        }
        let mut seen = self.channels.clone();
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Invalid::Contradiction(format!("the channel {} is named twice", pair[0]))),
            None => Ok(()),
        }
    }

    fn check_time(&self) -> Result<(), Invalid> {
        let most = Due::MAX_DELAY.as_millis();
        match (self.scheduled_at, self.delay_ms) {
            (Some(_), Some(_)) => {
                Err(Invalid::Contradiction("give scheduled_at or delay_ms, not both".into()))
            }
            (None, Some(delay)) if u128::from(delay) > most => Err(Invalid::OutOfRange {
                what: "delay_ms",
                given: delay.to_string(),
                allowed: format!("at most {most}, a hundred years"),
            }),
            (Some(at), None) if self.expires_at.is_some_and(|expires| expires <= at) => {
                Err(Invalid::Contradiction("expires_at is not after scheduled_at".into()))
            }
            _ => Ok(()),
        }
    }

    fn check_senders(&self) -> Result<(), Invalid> {
        self.sender.iter().try_for_each(|(channel, sender)| match self.channels.contains(channel) {
            true => sender.check(),
            false => Err(Invalid::Contradiction(format!("sender names {channel}, which is no channel here"))),
        })
    }

    fn check_content(&self) -> Result<(), Invalid> {
        match (&self.content, &self.template) {
            (Some(content), None) => {
                content.check()?;
                let misfits: Result<Vec<_>, _> =
                    self.channels.iter().map(|channel| content.fits(*channel).err().ok_or(())).collect();
                match misfits {
                    Ok(reasons) => Err(Invalid::Contradiction(
                        reasons.iter().map(Reason::as_str).collect::<Vec<_>>().join(", "),
                    )),
                    Err(()) => Ok(()),
                }
            }
            (None, Some(template)) => Invalid::unless_length("template id", &template.id, 128),
            (Some(_), Some(_)) => Err(Invalid::Contradiction("give content or template, not both".into())),
            (None, None) => Err(Invalid::Contradiction("give content or template".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"id":"018f6b2e-0000-7000-8000-000000000001","requester":{"type":"service","id":"shop"},
        "recipients":[{"user":"u-1"},{"email":"a@example.com","language":"de"},{"segment":"vip"}],
        "channels":["email","push"],"content":{"title":"Hello"}}"#;

    fn check(edit: impl FnOnce(&mut NotificationRequest)) -> Result<(), Invalid> {
        let mut request: NotificationRequest = serde_json::from_str(GOOD).unwrap();
        edit(&mut request);
        request.check()
    }

    #[test]
    fn reads_all_kinds_of_recipients_and_round_trips() {
        let request: NotificationRequest = serde_json::from_str(GOOD).unwrap();
        assert_eq!(request.recipients[0], RecipientReference::User { user: "u-1".into() });
        assert!(matches!(request.recipients[1], RecipientReference::Direct(_)));
        let again = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        assert_eq!(request, again);
    }

    #[test]
    fn a_fingerprint_is_of_the_meaning_and_not_of_the_spelling() {
        let print = |edit: fn(&mut NotificationRequest)| {
            let mut request: NotificationRequest = serde_json::from_str(GOOD).unwrap();
            edit(&mut request);
            request.fingerprint()
        };
        let good = print(|_| ());
        let traced = print(|r| {
            r.headers
                .set_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Some("v=1"))
                .unwrap();
        });
        assert_eq!((print(|r| r.channels.reverse()), traced), (good, good));
        let others = [
            print(|r| r.content.as_mut().unwrap().body = Some("more".into())),
            print(|r| r.recipients.truncate(1)),
            print(|r| r.recipients.reverse()),
            print(|r| r.delay_ms = Some(1)),
            print(|r| r.memo = Some("note".into())),
            print(|r| r.headers.insert("tenant", "a").unwrap()),
        ];
        assert!(others.iter().all(|other| *other != good));
        // Erased requests are known by fingerprints that were stored, so the form may not change from version to version.
        assert_eq!(format!("{good:?}"), "Fingerprint(2d9abf78..)");
    }

    #[test]
    fn refuses_what_could_never_be_carried_out() {
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|r| r.recipients.clear()), Err(Invalid::Empty { what: "recipients" }));
        assert_eq!(check(|r| r.channels.clear()), Err(Invalid::Empty { what: "channels" }));
        assert!(check(|r| r.channels.push(Channel::Email)).is_err());
        let picture = |r: &mut NotificationRequest| {
            r.content.as_mut().unwrap().image_url = Some("https://example.com/i.png".into());
        };
        assert_eq!(check(picture), Ok(()));
        let refused = check(|r| {
            picture(r);
            r.channels = vec![Channel::Sms];
        });
        assert_eq!(refused, Err(Invalid::Contradiction("sms cannot carry image_url".into())));
        let sender = |r: &mut NotificationRequest, channel| {
            let shop = Sender { name: Some("Shop".into()), address: None };
            r.sender.insert(channel, shop);
        };
        assert_eq!(check(|r| sender(r, Channel::Email)), Ok(()));
        assert!(check(|r| sender(r, Channel::Sms)).unwrap_err().to_string().contains("sms"));
        assert!(
            check(|r| {
                r.scheduled_at = Some(Timestamp::MAX);
                r.expires_at = Some(Timestamp::MAX);
            })
            .is_err()
        );
        assert!(check(|r| r.content = None).is_err());
        assert!(check(|r| r.content = Some(Content::default())).is_err());
        assert!(check(|r| r.recipients = vec![RecipientReference::Direct(Default::default())]).is_err());
        assert!(check(|r| r.template = Some(TemplateCall { id: "t".into(), params: [].into() })).is_err());
        assert!(matches!(
            check(|r| r.delay_ms = Some(u64::MAX)),
            Err(Invalid::OutOfRange { what: "delay_ms", .. })
        ));
        assert!(
            check(|r| {
                r.delay_ms = Some(1);
                r.scheduled_at = Some(Timestamp::MAX);
            })
            .is_err()
        );
    }
}
