use std::fmt;

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Content, NotificationMessage},
};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};
use serde_json::{Value, json};

use crate::webhook::{Endpoint, Poster, WebhookConfig, refuse};

/// Posts to incoming webhooks of Slack or Microsoft Teams.
///
/// Each message goes to the URL of the configuration, or to its own address if there is none. The title stands in bold above
/// the text; a link and a picture follow it. The answers mean what those of [`WebhookChannel`](crate::WebhookChannel) mean. Nothing
/// is signed: the URL is the secret.
pub struct ChatChannel {
    poster: Poster,
    style: ChatStyle,
    to: Option<Endpoint>,
}

/// Whose webhooks they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChatStyle {
    /// Slack: a text in mrkdwn.
    Slack,
    /// Microsoft Teams: an adaptive card, as webhooks of Workflows take it.
    Teams,
}

impl ChatChannel {
    /// A provider with connections of its own. The gateway of the configuration is the webhook; its secret is not used. Refuses
    /// what [`WebhookConfig::check`] refuses.
    pub fn new(style: ChatStyle, config: WebhookConfig) -> Result<Self, Invalid> {
        let to = config.gateway.clone();
        Ok(Self {
            poster: Poster::new(&WebhookConfig { secret: None, svix_headers: false, ..config })?,
            style,
            to,
        })
    }
}

#[async_trait]
impl ChannelProvider for ChatChannel {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let to = match &self.to {
            Some(to) => to.clone(),
            None => message.address.parse().map_err(|e: Invalid| DeliveryError::permanent(e.to_string()))?,
        };
        let body = match self.style {
            ChatStyle::Slack => slack(&message.content),
            ChatStyle::Teams => teams(&message.content),
        };
        let body = serde_json::to_vec(&body).map_err(|e| refuse(&e))?;
        self.poster.deliver(&to, &message.id.to_string(), message.traceparent.as_deref(), body).await
    }
}

impl fmt::Debug for ChatChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatChannel").field("style", &self.style).finish_non_exhaustive()
    }
}

fn slack(content: &Content) -> Value {
    let title = content.title.as_deref().map(|title| format!("*{}*", plain_slack(title)));
    let body = content.body.as_deref().map(plain_slack);
    let links = [&content.redirect_url, &content.image_url].into_iter().flatten();
    let links = links.map(|url| link(url));
    let parts: Vec<String> = title.into_iter().chain(body).chain(links).collect();
    json!({ "text": parts.join("\n") })
}

/// A link for Slack, which takes what begins with `!`, `@` or `#` for a mention.
fn link(url: &str) -> String {
    match url.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => format!("<{}>", url.replace(['<', '>', '|'], "")),
        false => plain_slack(url),
    }
}

/// The three characters that mean something else in Slack, so that no text can mention everybody.
fn plain_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn teams(content: &Content) -> Value {
    let mut blocks = Vec::new();
    if let Some(title) = &content.title {
        blocks.push(json!({
            "type": "TextBlock", "text": title, "weight": "Bolder", "size": "Medium", "wrap": true
        }));
    }
    if let Some(body) = &content.body {
        blocks.push(json!({ "type": "TextBlock", "text": body, "wrap": true }));
    }
    if let Some(url) = &content.image_url {
        blocks.push(json!({ "type": "Image", "url": url }));
    }
    let link = content.redirect_url.as_ref();
    let actions: Vec<Value> = link
        .map(|url| json!({ "type": "Action.OpenUrl", "title": content.title.as_deref().unwrap_or(url), "url": url }))
        .into_iter()
        .collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": blocks,
                "actions": actions
            }
        }]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Content {
        Content {
            title: Some("Paid".into()),
            body: Some("<!channel> & more".into()),
            redirect_url: Some("https://shop.example/1".into()),
            ..Content::default()
        }
    }

    #[test]
    fn a_text_for_slack_mentions_no_user() {
        assert_eq!(
            slack(&content()),
            json!({ "text": "*Paid*\n&lt;!channel&gt; &amp; more\n<https://shop.example/1>" })
        );
        for url in ["!channel", "@U1", "#C1", "<!channel>", "/orders"] {
            let text = slack(&Content {
                body: Some("x".into()),
                redirect_url: Some(url.into()),
                ..Content::default()
            });
            assert_eq!(text, json!({ "text": format!("x\n{}", plain_slack(url)) }));
        }
    }

    #[test]
    fn a_card_for_teams_has_title_text_and_link() {
        let card = teams(&content());
        let card = &card["attachments"][0]["content"];
        assert_eq!(card["body"][0]["text"], "Paid");
        assert_eq!(card["body"][1]["text"], "<!channel> & more");
        assert_eq!(card["actions"][0]["url"], "https://shop.example/1");
    }
}
