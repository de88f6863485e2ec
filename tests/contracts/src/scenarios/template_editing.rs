//! Promise: a published template has no faults, keeps its partials, and is replaced by publishing an older
//! version again

use std::{sync::Arc, time::Duration};

use claimstream_domain::notification::{
    Channel, NotificationRequest, Recipient, RecipientReference, Template, TemplateCall,
};
use claimstream_memory::MemoryDirectory;
use claimstream_notifications::{
    CachedTemplates, Edition, Published, RequestConfig, RequestHandler, TemplateAge, TemplateEditor,
};
use claimstream_ports::StoreErrorKind;
use claimstream_tokio::TokioTimer;
use futures::future::join_all;
use serde_json::json;
use uuid::Uuid;

use super::consents::handle;
use crate::{
    NotificationFixture, NotificationPorts,
    fixture::{Deliveries, mail_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [Notifications]:
    only_a_template_without_faults_is_published,
    a_version_keeps_the_partials_that_it_was_published_with,
    an_older_version_is_published_again_under_a_number_of_its_own,
    of_two_editors_that_publish_at_once_one_is_asked_to_look_again,
    a_published_template_is_delivered_through_the_cache,
];

pub async fn only_a_template_without_faults_is_published(fixture: NotificationFixture) {
    let (editor, id) = (editor(&fixture.store), id());
    let why = async |body: &str| {
        editor.save(&id, &template(body)).await.expect("a draft may be unfinished");
        editor.publish(&id).await.expect_err("a fault").to_string()
    };
    assert!(editor.publish(&id).await.expect_err("no draft").to_string().contains("there is no template"));
    assert!(why("{{ nmae }}").await.contains("\"nmae\", which its variables do not declare"));
    assert!(why("a\n{% if name %}").await.contains("email, en, body: line 2"));
    assert!(why("@media print{#menu{display:none}} #}").await.contains("line 1: {# begins a comment"));
    assert!(
        why("{% include 'no-such' %}")
            .await
            .contains("it includes \"no-such\", and no such template is published")
    );
    let refused = editor.save(&id, &template("{% autoescape false %}")).await.expect_err("no such statement");
    assert!(refused.to_string().contains("line 1: templates have no statement"), "{refused}");
    assert!(editor.save("../x", &template("x")).await.is_err());
    assert_eq!(fixture.rival.templates.published(&id).await.expect("published"), None);
    editor.save(&id, &template("Hi {{ name }}")).await.expect("save");
    assert_eq!(editor.publish(&id).await.expect("publish"), Published { number: 1, is_new: true });
    assert_eq!(editor.publish(&id).await.expect("publish"), Published { number: 1, is_new: false });
}

pub async fn a_version_keeps_the_partials_that_it_was_published_with(fixture: NotificationFixture) {
    let (editor, id, footer) = (editor(&fixture.store), id(), id());
    publish(&editor, &footer, "old").await;
    let body = format!("Hi {{% include '{footer}' %}}");
    publish(&editor, &id, &body).await;
    publish(&editor, &footer, "new").await;
    let shown = async |edition| {
        let call = TemplateCall { id: id.clone(), params: [("name".to_owned(), "Ann".to_owned())].into() };
        let shown = editor.preview(&call, edition, &Recipient::user("a"), Channel::Email).await;
        shown.expect("a preview").body.expect("a body")
    };
    assert_eq!(shown(Edition::Version(1)).await, "Hi old");
    assert_eq!(shown(Edition::Draft).await, "Hi new");
    assert_eq!(editor.publish(&id).await.expect("publish"), Published { number: 2, is_new: true });
    assert_eq!(
        (shown(Edition::Version(1)).await, shown(Edition::Version(2)).await),
        ("Hi old".into(), "Hi new".into())
    );
}

pub async fn an_older_version_is_published_again_under_a_number_of_its_own(fixture: NotificationFixture) {
    let (editor, id) = (editor(&fixture.store), id());
    for body in ["one", "two"] {
        publish(&editor, &id, body).await;
    }
    assert_eq!(editor.restore(&id, 1).await.expect("restore"), Published { number: 3, is_new: true });
    let sent = fixture.rival.templates.published(&id).await.expect("published").expect("it is there");
    assert_eq!((sent.number, &sent.template), (3, &template("one")));
    assert_eq!(editor.restore(&id, 1).await.expect("restore"), Published { number: 3, is_new: false });
    assert!(editor.restore(&id, 9).await.expect_err("unknown").to_string().contains("has no version 9"));
}

pub async fn of_two_editors_that_publish_at_once_one_is_asked_to_look_again(fixture: NotificationFixture) {
    let (one, two, id) = (editor(&fixture.store), editor(&fixture.rival), id());
    publish(&one, &id, "first").await;
    publish(&one, &id, "second").await;
    publish(&one, &id, "third").await;
    // Each makes the fourth version of what it finds.
    let results = join_all([one.restore(&id, 1), two.restore(&id, 2)]).await;
    let numbers: Vec<u32> = results.iter().flatten().map(|published| published.number).collect();
    for refused in results.into_iter().filter_map(Result::err) {
        let claimstream_notifications::TemplateEditError::Store(error) = refused else { panic!("{refused}") };
        assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
    }
    // They may have come one after the other.
    assert!([vec![4], vec![4, 5], vec![5, 4]].contains(&numbers), "{numbers:?}");
}

pub async fn a_published_template_is_delivered_through_the_cache(fixture: NotificationFixture) {
    let (ports, id) = (&fixture.store, id());
    let editor = editor(&fixture.rival);
    publish(&editor, &id, "Hi {{ name }}").await;
    let request = |name: &str| {
        let direct = json!({"email": format!("{}@example.com", Uuid::now_v7())});
        let mail: RecipientReference = serde_json::from_value(direct).expect("a recipient");
        let params = [("name".to_owned(), name.to_owned())].into();
        let template = Some(TemplateCall { id: id.clone(), params });
        NotificationRequest { content: None, template, ..mail_to(mail) }
    };
    let requests = [request("Ann"), request("Bob")];
    ports.submit(&requests).await;
    let age = TemplateAge { fresh: Duration::from_secs(60), stale: Duration::from_secs(60) };
    let source = Arc::new(CachedTemplates::new(ports.templates.clone(), Arc::new(TokioTimer::new()), age));
    let (directory, config) = (Arc::new(MemoryDirectory::new()), RequestConfig::default());
    let fan_out =
        RequestHandler::new(ports.requests.clone(), ports.messages.clone(), directory, source, config);
    let deliveries = Deliveries::default();
    let (fan_out, deliver) = (fan_out.expect("a handler"), deliveries.handler(ports.messages.clone()));
    assert_eq!(handle(&fixture, claimstream_notifications::REQUEST_QUEUE, &fan_out).await, 2);
    assert_eq!(handle(&fixture, claimstream_notifications::MESSAGE_QUEUE, &deliver).await, 2);
    for (request, body) in requests.iter().zip(["Hi Ann", "Hi Bob"]) {
        let delivered = deliveries.of(request.id);
        assert_eq!(delivered[0].content.body.as_deref(), Some(body));
    }
}

async fn publish(editor: &TemplateEditor, id: &str, body: &str) {
    editor.save(id, &template(body)).await.expect("save");
    assert!(editor.publish(id).await.expect("publish").is_new);
}

fn editor(ports: &NotificationPorts) -> TemplateEditor {
    TemplateEditor::new(ports.templates.clone())
}

fn template(body: &str) -> Template {
    let variables = json!({"name": {"default": "you"}});
    let texts = json!({"email": {"en": {"title": "Title", "body": body}}});
    let template = json!({"default_language": "en", "variables": variables, "texts": texts});
    serde_json::from_value(template).expect("a template")
}

/// The id of a template of its own.
fn id() -> String {
    format!("t-{}", Uuid::now_v7())
}
