use claimstream_domain::notification::provider::ProviderName;
use http::{HeaderMap, Uri};
use serde_json::Value;

/// A call of Amazon SNS that says something of the subscription, and brings no receipts.
///
/// Source: Amazon SNS Developer Guide, "HTTP/HTTPS headers" and "HTTP/HTTPS subscription confirmation JSON format".
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Subscription {
    /// It begins when an operator opens this URL.
    Asked(Option<Uri>),
    /// It is over; this URL begins it again.
    Ended(Option<Uri>),
}

impl Subscription {
    /// What a call says of the subscription, if it is of that kind. A URL that is not of Amazon SNS is left out: customers of Amazon have others.
    pub(crate) fn of(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let kind = headers.get("x-amz-sns-message-type")?.to_str().ok()?;
        let url = || subscribe_url(&serde_json::from_slice(body).ok()?);
        match kind {
            "SubscriptionConfirmation" => Some(Self::Asked(url())),
            "UnsubscribeConfirmation" => Some(Self::Ended(url())),
            _ => None,
        }
    }

    /// Says it in the log, because only a person can answer.
    pub(crate) fn warn(&self, provider: &ProviderName) {
        match self {
            Self::Asked(Some(url)) => {
                tracing::warn!(%provider, subscribe_url = %url, "Amazon SNS asks to confirm the subscription; open subscribe_url once, and receipts come");
            }
            Self::Ended(Some(url)) => {
                tracing::warn!(%provider, subscribe_url = %url, "Amazon SNS has ended the subscription; open subscribe_url, and receipts come again");
            }
            Self::Asked(None) | Self::Ended(None) => {
                tracing::warn!(%provider, "a call about a subscription has no https URL of Amazon SNS to confirm it; none is shown");
            }
        }
    }
}

fn subscribe_url(body: &Value) -> Option<Uri> {
    let url: Uri = body.get("SubscribeURL")?.as_str()?.parse().ok()?;
    let is_of_sns = url.host().is_some_and(|host| {
        let host = host.to_ascii_lowercase();
        let region = host.strip_prefix("sns.").and_then(|rest| rest.strip_suffix(".amazonaws.com"));
        region.is_some_and(|region| !region.contains('.'))
    });
    (url.scheme_str() == Some("https") && is_of_sns).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &'static str, url: &str) -> Option<Subscription> {
        let headers = HeaderMap::from_iter([(
            "x-amz-sns-message-type".parse().unwrap(),
            http::HeaderValue::from_static(kind),
        )]);
        let body =
            serde_json::json!({"Type": kind, "Message": "You have chosen to subscribe", "SubscribeURL": url});
        Subscription::of(&headers, body.to_string().as_bytes())
    }

    /// Guard: an operator is asked to open no URL that is not of Amazon SNS | src/receipts/subscription.rs `subscribe_url`: any https URL
    #[test]
    fn a_confirmation_shows_the_url_of_amazon_and_no_other() {
        let url = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:x&Token=2336412f37";
        let expected = Some(Subscription::Asked(Some(url.parse().unwrap())));
        assert_eq!(read("SubscriptionConfirmation", url), expected);
        let ended = Some(Subscription::Ended(Some(url.parse().unwrap())));
        assert_eq!(read("UnsubscribeConfirmation", url), ended);
        for other in [
            "http://sns.eu-west-1.amazonaws.com/",
            "https://amazonaws.com.evil.example/",
            "https://evilamazonaws.com/",
            "https://bucket.s3.amazonaws.com/",
            "https://sns.bucket.s3.amazonaws.com/",
            "https://sns.amazonaws.com@evil.example/",
            "https://sns.amazonaws.com/\nopen https://evil.example/",
            "/",
            "",
        ] {
            assert_eq!(read("SubscriptionConfirmation", other), Some(Subscription::Asked(None)), "{other}");
        }
        assert_eq!(read("Notification", url), None);
        assert_eq!(Subscription::of(&HeaderMap::new(), b"{}"), None);
    }
}
