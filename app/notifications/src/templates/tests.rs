//! Promise: values in templates are never executed, pages are escaped, titles have no line breaks, and the
//! work of a template is bounded

use std::sync::Arc;

use claimstream_domain::notification::{Channel, Content, Recipient, TemplateCall, TemplateVersion};
use serde_json::json;

use super::CompiledTemplate;

fn version(template: serde_json::Value, partials: serde_json::Value) -> Arc<TemplateVersion> {
    let version = json!({"id": "t", "number": 1, "template": template, "partials": partials});
    Arc::new(serde_json::from_value(version).unwrap())
}

fn mail(text: serde_json::Value) -> serde_json::Value {
    json!({"default_language": "en", "variables": {"name": {}, "sum": {"default": "0"}}, "texts": {"email": {"en": text}}})
}

fn call(params: &[(&str, &str)]) -> TemplateCall {
    let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    TemplateCall { id: "t".into(), params }
}

fn ann() -> Recipient {
    Recipient { language: Some("de-AT".into()), ..Recipient::user("ann") }
}

fn written(text: serde_json::Value, params: &[(&str, &str)]) -> Result<Content, String> {
    let template = CompiledTemplate::of(version(mail(text), json!({}))).map_err(|e| e.to_string())?;
    template.write(&call(params), &ann(), Channel::Email, None).map_err(|reason| reason.to_string())
}

fn body(text: &str, name: &str) -> Result<String, String> {
    written(json!({"body": text}), &[("name", name)]).map(|content| content.body.unwrap())
}

#[test]
fn each_value_is_filled_in_once_and_never_carried_out() {
    assert_eq!(body("{{ name }}!", "{{ sum }}{% if %}").unwrap(), "{{ sum }}{% if %}!");
    assert_eq!(body("{{name}}\n", "Ann").unwrap(), "Ann\n");
    let default =
        written(json!({"body": "{{ sum }} {{ recipient.user }} {{ unsubscribe_url }}."}), &[("name", "")]);
    assert_eq!(default.unwrap().body.as_deref(), Some("0 ann ."));
}

#[test]
fn pages_are_escaped_and_texts_and_titles_are_not() {
    let text = json!({"title": "{{ name }}", "body": "{{ name }}", "html": "<b>{{ name }}</b>"});
    let content = written(text, &[("name", "<i>&\"A\"")]).unwrap();
    assert_eq!(content.title.as_deref(), Some("<i>&\"A\""));
    assert_eq!(content.body.as_deref(), Some("<i>&\"A\""));
    assert_eq!(content.html.as_deref(), Some("<b>&lt;i&gt;&amp;&quot;A&quot;</b>"));
    for around in ["{% autoescape false %}{{ name }}{% endautoescape %}", "{{ name|safe }}"] {
        let refused = written(json!({"body": "x", "html": around}), &[("name", "<i>")]).unwrap_err();
        assert!(refused.contains("html: line 1: "), "{refused}");
    }
}

#[test]
fn a_title_has_no_line_breaks() {
    let text = json!({"title": "Hi {{ name }}\n", "body": "x"});
    let content = written(text, &[("name", "Ann\r\nBcc: x\u{2028}y\t")]).unwrap();
    assert_eq!(content.title.as_deref(), Some("Hi Ann Bcc: x y"));
}

#[test]
fn an_undefined_name_is_an_error_with_its_place() {
    let refused = body("a\n{{ recipient.attributes.city }}", "Ann").unwrap_err();
    assert!(refused.contains("email: body: line 2: undefined value"), "{refused}");
    assert_eq!(body("{{ recipient.attributes.city | default('home') }}", "Ann").unwrap(), "home");
    let undeclared = body("{{ nmae }}", "Ann").unwrap_err();
    assert!(
        undeclared.contains("email, en: it uses \"nmae\", which its variables do not declare"),
        "{undeclared}"
    );
    assert!(body("\n{{ name", "Ann").unwrap_err().contains("email, en, body: line 2: syntax error"));
    assert!(body("{{ debug() }}", "Ann").is_err());
}

#[test]
fn a_text_reads_what_the_directory_knows_of_its_recipient() {
    let text = json!({"body": "{{ recipient.attributes.city }} {% for item in recipient.attributes.cart %}{{ item }};{% endfor %}"});
    let template = CompiledTemplate::of(version(mail(text), json!({}))).unwrap();
    let attributes = json!({"city": "{{ name }}", "cart": ["a", 2], "none": null});
    let ann = Recipient { attributes: serde_json::from_value(attributes).unwrap(), ..ann() };
    let content = template.write(&call(&[("name", "Ann")]), &ann, Channel::Email, None).unwrap();
    assert_eq!(content.body.as_deref(), Some("{{ name }} a;2;"));
}

#[test]
fn a_template_that_costs_too_much_is_stopped() {
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    assert!(
        body(loops, "Ann").unwrap_err().contains("out of fuel")
            || body(loops, "Ann").unwrap_err().contains("fuel")
    );
    let doubling = "{% set x = name ~ name %}".to_owned() + &"{% set x = x ~ x %}".repeat(60) + "{{ x }}";
    assert!(body(&doubling, "Ann").unwrap_err().contains("fuel"));
    assert!(body("{{ name * 90000 }}", "Ann").unwrap_err().contains("body has 270000 bytes"));
    assert!(body("{{ name }}", "").unwrap_err().contains("body is empty"));
}

#[test]
fn a_part_includes_the_same_part_of_a_partial_in_its_language() {
    let footer = json!({"default_language": "en", "variables": {"year": {"default": "2026"}}, "texts": {"email": {
        "en": {"body": "Bye {{ year }}", "html": "<p>Bye {{ name }}"}, "de": {"body": "Ade {{ year }}", "html": "<p>Ade"}}}});
    let template = json!({"default_language": "en", "variables": {"name": {}}, "texts": {"email": {
        "en": {"body": "Hi. {% include 'footer' %}", "html": "{% include 'footer' %}"},
        "de": {"body": "Na. {% include 'footer' %}"}}}});
    let compiled = CompiledTemplate::of(version(template.clone(), json!({"footer": footer}))).unwrap();
    let write =
        |who: &Recipient| compiled.write(&call(&[("name", "<A>")]), who, Channel::Email, None).unwrap();
    assert_eq!(write(&ann()).body.as_deref(), Some("Na. Ade 2026"));
    let english = write(&Recipient::user("bob"));
    assert_eq!(
        (english.body.as_deref(), english.html.as_deref()),
        (Some("Hi. Bye 2026"), Some("<p>Bye &lt;A&gt;"))
    );
    assert!(compiled.refuse_surplus(&call(&[("year", "2027")])).is_ok());
    let why = |partials| CompiledTemplate::of(version(template.clone(), partials)).unwrap_err().to_string();
    assert!(why(json!({})).contains("it includes \"footer\""));
    let without = json!({"footer": {"default_language": "en", "variables": {}, "texts": {"email": {"en": {"body": "x"}}}}});
    assert!(why(without).contains("html: the partial \"footer\" has no html for email"));
}

#[test]
fn a_template_without_declarations_fills_plain_names_in_as_it_did() {
    let old = json!({"default_language": "en", "texts": {"email": {
        "en": {"title": "Hi {{ name }}", "body": "{{name}} {{x}}."}, "de": {"body": "Na {{name}}"}}}});
    let old = CompiledTemplate::of(version(old, json!({}))).unwrap();
    let english = Recipient::user("bob");
    let content = old.write(&call(&[("name", "{{x}}"), ("x", "1")]), &english, Channel::Email, None).unwrap();
    assert_eq!((content.title.as_deref(), content.body.as_deref()), (Some("Hi {{x}}"), Some("{{x}} 1.")));
    let one = call(&[("name", "Ann")]);
    assert_eq!(old.write(&one, &ann(), Channel::Email, None).unwrap().body.as_deref(), Some("Na Ann"));
    let missing = old.write(&one, &english, Channel::Email, None).unwrap_err();
    assert_eq!(missing.as_str(), "the template \"t\" needs a value for \"x\"");
    assert!(old.refuse_surplus(&call(&[("y", "")])).is_err());
}
