use std::{borrow::Cow, collections::HashSet, fmt::Write};

use claimstream_domain::{
    Invalid,
    notification::{NotificationMessage, consent::Address},
};
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior, Value, value::Serde};

/// The templates of a request, compiled.
pub(super) struct Templates {
    environment: Environment<'static>,
    headers: Vec<String>,
    has_body: bool,
    /// Whether the body is JSON, by its content type.
    pub(super) is_json: bool,
    /// The names that they use.
    used: HashSet<String>,
}

/// A request for one message.
pub(super) struct Rendered {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

const URL: &str = "url";
const BODY: &str = "body";
/// Escapes as URLs and forms do.
const PERCENT: AutoEscape = AutoEscape::Custom(Cow::Borrowed("percent"));

impl Templates {
    /// What templates may spend on one message, in steps.
    const FUEL: u64 = 100_000;

    pub(super) fn of(url: &str, headers: &[(String, String)], body: Option<&str>) -> Result<Self, Invalid> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(Self::FUEL));
        let escape = escaping(headers);
        let is_json = escape == AutoEscape::Json;
        environment.set_auto_escape_callback(move |name| match name {
            URL => PERCENT,
            BODY => escape.clone(),
            _ => AutoEscape::None,
        });
        environment.set_formatter(formatted);
        let mut add = |name: String, text: &str| {
            let added = environment.add_template_owned(name.clone(), text.to_owned());
            added.map_err(|e| Invalid::Malformed { what: "gateway", why: said(&name, &e) })
        };
        add(URL.into(), url)?;
        for (name, value) in headers {
            add(header(name), value)?;
        }
        if let Some(body) = body {
            add(BODY.into(), body)?;
        }
        let headers = headers.iter().map(|(name, _)| name.clone()).collect();
        let used = environment.templates().flat_map(|(_, template)| template.undeclared_variables(false));
        let used = used.collect();
        Ok(Self { environment, headers, has_body: body.is_some(), is_json, used })
    }

    /// Whether one of them uses this name.
    pub(super) fn use_name(&self, name: &str) -> bool {
        self.used.contains(name)
    }

    /// Fills the templates in, or says which one failed, where and why.
    pub(super) fn render(&self, message: &NotificationMessage) -> Result<Rendered, String> {
        let seen = Value::from(Serde(seen(message)));
        let fill = |name: &str| {
            let template = self.environment.get_template(name).map_err(|e| said(name, &e))?;
            template.render(seen.clone()).map_err(|e| said(name, &e))
        };
        let headers = self.headers.iter().map(|name| Ok((name.clone(), fill(&header(name))?)));
        Ok(Rendered {
            url: fill(URL)?,
            headers: headers.collect::<Result<_, String>>()?,
            body: self.has_body.then(|| fill(BODY)).transpose()?,
        })
    }
}

/// How the body is escaped: as its content type says.
fn escaping(headers: &[(String, String)]) -> AutoEscape {
    let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map(|(_, value)| value.to_ascii_lowercase()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/x-www-form-urlencoded" => PERCENT,
        json if json.ends_with("/json") || json.ends_with("+json") => AutoEscape::Json,
        _ => AutoEscape::None,
    }
}

fn formatted(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if *state.auto_escape() != PERCENT {
        return minijinja::escape_formatter(out, state, value);
    }
    let text = if value.is_none() { String::new() } else { value.to_string() };
    if value.is_safe() {
        return out.write_str(&text).map_err(Error::from);
    }
    for byte in text.bytes() {
        let written = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.write_char(char::from(byte))
            }
            other => write!(out, "%{other:02X}"),
        };
        written.map_err(Error::from)?;
    }
    Ok(())
}

/// What templates see of a message as it is shown: its fields and those of its content on one level, each of them there. The address is
/// spelled as a provider takes it.
fn seen(message: &NotificationMessage) -> serde_json::Value {
    let mut seen = serde_json::json!({
        "title": null, "body": null, "html": null, "redirect_url": null, "image_url": null, "attachments": [],
        "unsubscribe_url": null, "sender": null,
    });
    let whole = serde_json::to_value(&*message.shown()).unwrap_or_default();
    if let (Some(seen), serde_json::Value::Object(mut fields)) = (seen.as_object_mut(), whole) {
        if let Some(serde_json::Value::Object(content)) = fields.remove("content") {
            seen.extend(content);
        }
        fields.insert("address".to_owned(), Address::sent(message.channel, &message.address).into());
        seen.extend(fields);
    }
    seen
}

fn header(name: &str) -> String {
    format!("header {name}")
}

/// What is wrong with a template, without what it was filled with.
fn said(name: &str, error: &Error) -> String {
    let line = error.line().map(|line| format!(", line {line}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{name}{line}: {}{detail}", error.kind())
}
