use std::{collections::BTreeMap, sync::Arc};

use claimstream_notifications::{
    Channel, CompiledTemplate, Recipient, Template, TemplateCall, TemplateText, TemplateVariable,
    TemplateVersion,
};

use crate::{
    Target,
    head::{Head, split, text},
};

/// The text of a template after its title.
pub(super) const SOURCE: Target = Target {
    name: "template_source",
    run: |data| {
        let (title, body) = split(data, b'\n');
        let (Some(title), Some(body)) = (text(title), text(body)) else { return false };
        let text = TemplateText {
            title: Some(title.to_owned()),
            body: body.to_owned(),
            html: Some(body.to_owned()),
        };
        let languages = BTreeMap::from([("en".to_owned(), text)]);
        let texts = BTreeMap::from([(Channel::Email, languages)]);
        let variables = ["name", "n"].map(|name| (name.to_owned(), TemplateVariable::default()));
        let (default_language, variables) = ("en".to_owned(), Some(variables.into()));
        let template = Template { texts, default_language, variables };
        fill(template, &[("name", "Ann\n<b>"), ("n", "7")])
    },
    seeds: &[
        b"Hello {{ name }}\n{% if n %}{{ n|upper }}{% else %}none{% endif %} {{ recipient.language }}",
        b"{{ n }}\n{% for i in range(5) %}{{ loop.index }}{{ i * 2 }}{% endfor %}{{ unsubscribe_url }}",
        b"t\n{% set a = \"x\" %}{{ a ~ name }}{# c #}{% raw %}{{ no }}{% endraw %}",
    ],
};

/// A template in JSON after its parameters.
pub(super) const DEFINITION: Target = Target {
    name: "template_definition",
    run: |data| {
        let head = Head::of(data);
        let Ok(template) = serde_json::from_slice::<Template>(head.body) else { return false };
        let _ = template.includes();
        let written = serde_json::to_vec(&template).expect("a template in JSON");
        assert_eq!(serde_json::from_slice::<Template>(&written).ok(), Some(template.clone()));
        fill(template, &head.texts().collect::<Vec<_>>())
    },
    seeds: &[
        b"name: Ann\n\n{\"default_language\":\"en\",\"variables\":{\"name\":{\"default\":\"you\"}},\"texts\":{\"email\":{\"en\":{\"title\":\"Hi {{ name }}\",\"body\":\"{% if name %}{{ name|title }}{% endif %}\"},\"de-AT\":{\"title\":\"Servus\",\"body\":\"x\"}},\"sms\":{\"en\":{\"body\":\"{{ name }}\"}}}}",
        b"\n{\"default_language\":\"en\",\"texts\":{\"webhook\":{\"en\":{\"body\":\"{{ name }}\"}}}}",
    ],
};

fn fill(template: Template, params: &[(&str, &str)]) -> bool {
    let channels: Vec<Channel> = template.texts.keys().copied().collect();
    let version = TemplateVersion { id: "t".into(), number: 1, template, partials: BTreeMap::new() };
    let Ok(compiled) = CompiledTemplate::of(Arc::new(version)) else { return false };
    let given = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
    let call = TemplateCall { id: "t".into(), params: given.collect() };
    for channel in channels {
        let written = compiled.write(&call, &Recipient::user("7"), channel, Some("https://example.com/u"));
        if let Ok(Some(title)) = written.map(|content| content.title) {
            assert!(!title.contains(['\r', '\n']), "a title has a line break: {title:?}");
        }
    }
    true
}
