use serde::{Deserialize, Serialize};

use super::Channel;
use crate::{Invalid, Reason};

/// What a recipient reads: a title, a body, or both, and what a channel may show with them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The subject line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The same as a page, for channels that show one; the text is for all others, so there is one as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Where a click leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// A picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// Files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// A file that goes with a notification, fetched from where it is when the notification is delivered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Where it is.
    pub url: String,
    /// What the recipient sees as its name.
    pub name: String,
    /// Such as `application/pdf`; what the server says if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

impl Content {
    /// The longest title, in bytes.
    pub const MAX_TITLE_BYTES: usize = 1024;
    /// The longest body, in bytes.
    pub const MAX_BODY_BYTES: usize = 64 * 1024;
    /// The longest page, in bytes.
    pub const MAX_HTML_BYTES: usize = 256 * 1024;
    /// The longest address of a page, a picture or a file, in bytes.
    pub const MAX_URL_BYTES: usize = 2048;
    /// The most files.
    pub const MAX_ATTACHMENTS: usize = 16;

    /// Refuses content without a title and a body, any part that is empty or too long, and an address that is a script or a page itself.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.title.is_none() && self.body.is_none() {
            return Err(Invalid::Empty { what: "content (title and body)" });
        }
        let parts = [
            ("title", &self.title, Self::MAX_TITLE_BYTES),
            ("body", &self.body, Self::MAX_BODY_BYTES),
            ("html", &self.html, Self::MAX_HTML_BYTES),
            ("redirect_url", &self.redirect_url, Self::MAX_URL_BYTES),
            ("image_url", &self.image_url, Self::MAX_URL_BYTES),
        ];
        parts.into_iter().try_for_each(|(what, part, most)| match part {
            Some(text) => Invalid::unless_length(what, text, most),
            None => Ok(()),
        })?;
        for (what, url) in [("redirect_url", &self.redirect_url), ("image_url", &self.image_url)] {
            url.as_ref().map_or(Ok(()), |url| check_url(what, url))?;
        }
        if self.attachments.len() > Self::MAX_ATTACHMENTS {
            return Err(Invalid::OutOfRange {
                what: "attachments",
                given: self.attachments.len().to_string(),
                allowed: format!("at most {}", Self::MAX_ATTACHMENTS),
            });
        }
        self.attachments.iter().try_for_each(Attachment::check)
    }

    /// How long its texts are together, in bytes.
    pub fn bytes(&self) -> usize {
        let parts = [&self.title, &self.body, &self.html, &self.redirect_url, &self.image_url];
        let attachments = self.attachments.iter().map(|file| file.url.len() + file.name.len());
        parts.into_iter().flatten().map(String::len).chain(attachments).sum()
    }

    /// Says why a channel cannot carry this content, if it cannot: nothing is left out in silence.
    ///
    /// | part | email | webhook | push, chat, in-app | sms |
    /// |---|---|---|---|---|
    /// | `title`, `body`, `redirect_url` | yes | yes | yes | yes |
    /// | `html` | yes | yes | the text is used in its place | the text is used in its place |
    /// | `image_url` | yes | yes | yes | no |
    /// | `attachments` | yes | yes, as addresses | no | no |
    pub fn fits(&self, channel: Channel) -> Result<(), Reason> {
        let lacks = |what: &str| Err(Reason::new(format_args!("{channel} cannot carry {what}")));
        match channel {
            Channel::Email | Channel::Webhook => Ok(()),
            Channel::Sms if self.image_url.is_some() => lacks("image_url"),
            _ if !self.attachments.is_empty() => lacks("attachments"),
            _ => Ok(()),
        }
    }
}

impl Attachment {
    fn check(&self) -> Result<(), Invalid> {
        Invalid::unless_length("attachment url", &self.url, Content::MAX_URL_BYTES)?;
        if !["https://", "http://"].iter().any(|scheme| self.url.starts_with(scheme)) {
            let why = "it begins with https:// or http://".to_owned();
            return Err(Invalid::Malformed { what: "attachment url", why });
        }
        Invalid::unless_length("attachment name", &self.name, 255)?;
        if let Some(found) = self.name.chars().find(|c| c.is_control() || "/\\".contains(*c)) {
            let allowed = "use printable characters without slashes";
            return Err(Invalid::Character { what: "attachment name", found, allowed });
        }
        self.content_type.as_ref().map_or(Ok(()), |kind| {
            Invalid::unless_length("attachment content type", kind, 127)?;
            match kind.chars().find(|c| !c.is_ascii_graphic() && *c != ' ') {
                Some(found) => {
                    let allowed = "use printable ASCII";
                    Err(Invalid::Character { what: "attachment content type", found, allowed })
                }
                None => Ok(()),
            }
        })
    }
}

/// Refuses what a browser runs or shows in the place of the page that links to it, and characters that it leaves out before it looks.
fn check_url(what: &'static str, url: &str) -> Result<(), Invalid> {
    if let Some(found) = url.chars().find(|c| c.is_control()) {
        return Err(Invalid::Character { what, found, allowed: "use printable characters" });
    }
    match url.trim_start().split_once(':') {
        Some((scheme, _))
            if ["javascript", "vbscript", "data"].iter().any(|one| scheme.eq_ignore_ascii_case(one)) =>
        {
            let why = format!("no link leads to {scheme}:; use https:// or the scheme of an application");
            Err(Invalid::Malformed { what, why })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a link is no script | src/notification/content.rs `check`: no `check_url`
    #[test]
    fn a_link_is_no_script() {
        let check = |url: &str| {
            let to = || Some(url.to_owned());
            let link = Content { title: Some("Hello".into()), redirect_url: to(), ..Content::default() };
            let picture = Content { redirect_url: None, image_url: to(), ..link.clone() };
            assert_eq!(link.check().is_ok(), picture.check().is_ok(), "{url:?}");
            link.check()
        };
        for url in [
            "https://shop.example/a:b",
            "shop://orders/1",
            "/orders/1",
            "mailto:ann@example.com",
            "/orders?of=Ann Lee",
            "orders?q=javascript:",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            " javascript:alert(1)",
            "vbscript:x",
            "data:text/html,x",
        ] {
            assert!(check(url).is_err(), "{url:?}");
        }
    }

    #[test]
    fn refuses_what_cannot_be_read() {
        let content = |title: Option<&str>, body: Option<String>| {
            Content { title: title.map(str::to_owned), body, ..Content::default() }.check()
        };
        assert_eq!(content(Some("Hello"), None), Ok(()));
        assert_eq!(content(None, Some("x".repeat(Content::MAX_BODY_BYTES))), Ok(()));
        assert!(matches!(content(None, None), Err(Invalid::Empty { .. })));
        assert_eq!(content(Some(""), Some("text".into())), Err(Invalid::Empty { what: "title" }));
        assert_eq!(content(Some("Hello"), Some(String::new())), Err(Invalid::Empty { what: "body" }));
        let long = content(None, Some("x".repeat(Content::MAX_BODY_BYTES + 1)));
        assert!(matches!(long, Err(Invalid::TooLong { what: "body", .. })));
        let long = content(Some(&"x".repeat(Content::MAX_TITLE_BYTES + 1)), None);
        assert!(matches!(long, Err(Invalid::TooLong { what: "title", .. })));
    }

    #[test]
    fn no_part_is_left_out_in_silence() {
        let plain = Content { body: Some("text".into()), ..Content::default() };
        let picture = Content { image_url: Some("https://example.com/i.png".into()), ..plain.clone() };
        let file =
            Attachment { url: "https://example.com/a.pdf".into(), name: "a.pdf".into(), content_type: None };
        let files = Content { attachments: vec![file], ..plain.clone() };
        let carriers = |content: &Content| {
            Channel::ALL.into_iter().filter(|channel| content.fits(*channel).is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(carriers(&plain), Channel::ALL);
        assert!(!carriers(&picture).contains(&Channel::Sms) && carriers(&picture).len() == 5);
        assert_eq!(carriers(&files), [Channel::Email, Channel::Webhook]);
        assert_eq!(picture.fits(Channel::Sms), Err(Reason::new("sms cannot carry image_url")));
        assert_eq!(files.fits(Channel::Push), Err(Reason::new("push cannot carry attachments")));
    }

    #[test]
    fn an_attachment_has_an_address_and_a_name() {
        let check = |url: &str, name: &str, kind: Option<&str>| {
            Attachment { url: url.into(), name: name.into(), content_type: kind.map(str::to_owned) }.check()
        };
        assert_eq!(check("https://example.com/a", "Rechnung März.pdf", Some("application/pdf")), Ok(()));
        for (url, name, kind) in [
            ("ftp://example.com/a", "a", None),
            ("file:///etc/passwd", "a", None),
            ("https://example.com/a", "", None),
            ("https://example.com/a", "../a", None),
            ("https://example.com/a", "a\r\nb", None),
            ("https://example.com/a", "a", Some("a\r\nb")),
        ] {
            assert!(check(url, name, kind).is_err(), "{url} {name} {kind:?}");
        }
    }
}
