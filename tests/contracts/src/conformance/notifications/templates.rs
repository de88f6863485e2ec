//! Templates: drafts, which are edited, and versions, which are sent and never change.
//! Promise: of two processes that publish a version of a template at once, one wins each number, and a
//! version never changes

use std::{collections::BTreeMap, time::Duration};

use claimstream_domain::notification::{Channel, Template, TemplateText, TemplateVariable, TemplateVersion};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{NewTemplateVersion, TemplateListed},
};
use futures::future::join_all;
use uuid::Uuid;

use crate::{
    NotificationFixture, NotificationPorts,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications, Store]:
    an_unknown_template_is_not_there,
    a_draft_is_kept_as_it_is_and_its_revision_counts_changes,
    a_draft_is_not_sent_and_the_newest_version_is,
    a_version_never_changes_and_is_read_by_its_number,
    of_calls_that_publish_the_same_number_exactly_one_succeeds,
    a_number_that_does_not_follow_the_newest_is_refused,
    templates_are_read_page_by_page,
    versions_are_read_page_by_page_the_newest_first,
];

pub async fn an_unknown_template_is_not_there(fixture: NotificationFixture) {
    let (ports, id) = (&fixture.store.templates, id());
    assert_eq!(ports.published(&id).await.expect("published"), None);
    assert_eq!(ports.version(&id, 1).await.expect("version"), None);
    assert_eq!(ports.draft(&id).await.expect("draft"), None);
    assert!(ports.versions(&id, None, 10).await.expect("versions").is_empty());
}

pub async fn a_draft_is_kept_as_it_is_and_its_revision_counts_changes(fixture: NotificationFixture) {
    let id = id();
    let save = async |ports: &NotificationPorts, body: &str| {
        ports.templates.save_draft(&id, &template(body)).await.expect("save")
    };
    assert_eq!(save(&fixture.store, "one").await, 1);
    assert_eq!(save(&fixture.rival, "one").await, 1);
    assert_eq!(save(&fixture.rival, "zwölf {{ name }} ✓").await, 2);
    let draft = fixture.store.templates.draft(&id).await.expect("draft").expect("it is there");
    assert_eq!((draft.template, draft.revision), (template("zwölf {{ name }} ✓"), 2));
    assert!(draft.age < Duration::from_secs(600), "{:?}", draft.age);
    assert_eq!(save(&fixture.store, "one").await, 3);
}

/// Guard: the newest version is sent | adapters/sea-orm/src/sql/templates/published.sql: the oldest
pub async fn a_draft_is_not_sent_and_the_newest_version_is(fixture: NotificationFixture) {
    let (id, ports) = (id(), &fixture.store.templates);
    ports.save_draft(&id, &template("draft")).await.expect("save");
    assert_eq!(ports.published(&id).await.expect("published"), None);
    for number in 1..=3 {
        publish(&fixture.store, &id, number, &format!("text {number}")).await.expect("publish");
        ports.save_draft(&id, &template("another draft")).await.expect("save");
        let sent = fixture.rival.templates.published(&id).await.expect("published").expect("it is there");
        assert_eq!(*sent, version(&id, number, &format!("text {number}")));
    }
}

pub async fn a_version_never_changes_and_is_read_by_its_number(fixture: NotificationFixture) {
    let id = id();
    for number in 1..=2 {
        publish(&fixture.store, &id, number, &format!("text {number}")).await.expect("publish");
    }
    let refused = publish(&fixture.rival, &id, 1, "another text").await.expect_err("it is there");
    assert_eq!(refused.kind(), StoreErrorKind::Conflict, "{refused}");
    for number in 1..=2 {
        let read = fixture.rival.templates.version(&id, number).await.expect("version").expect("it is there");
        assert_eq!(*read, version(&id, number, &format!("text {number}")));
    }
    assert_eq!(fixture.store.templates.version(&id, 3).await.expect("version"), None);
}

pub async fn of_calls_that_publish_the_same_number_exactly_one_succeeds(fixture: NotificationFixture) {
    let id = id();
    for number in 1..=3 {
        let sides = [&fixture.store, &fixture.rival];
        // The same text too: a call that has lost is never answered that it has won.
        let calls = (0..6).map(|n| publish(sides[n % 2], &id, number, if n < 3 { "same" } else { "other" }));
        let results = join_all(calls).await;
        let won = results.iter().filter(|result| result.is_ok()).count();
        assert_eq!(won, 1, "{results:?}");
        for refused in results.into_iter().filter_map(Result::err) {
            assert_eq!(refused.kind(), StoreErrorKind::Conflict, "{refused}");
            assert!(refused.to_string().contains("publish again"), "{refused}");
        }
    }
    let numbers = numbers(&fixture.store, &id, None, 10).await;
    assert_eq!(numbers, [3, 2, 1]);
}

/// Guard: a version's number follows the newest | adapters/sea-orm/src/sql/templates/publish.sql: any number
pub async fn a_number_that_does_not_follow_the_newest_is_refused(fixture: NotificationFixture) {
    let id = id();
    let refused = publish(&fixture.store, &id, 2, "x").await.expect_err("there is no first one");
    assert_eq!(refused.kind(), StoreErrorKind::Conflict, "{refused}");
    publish(&fixture.store, &id, 1, "x").await.expect("publish");
    publish(&fixture.store, &id, 3, "x").await.expect_err("there is no second one");
    assert_eq!(numbers(&fixture.store, &id, None, 10).await, [1]);
}

pub async fn templates_are_read_page_by_page(fixture: NotificationFixture) {
    let prefix = id();
    let ids: Vec<String> = (0..5).map(|n| format!("{prefix}-{n}")).collect();
    for (n, id) in ids.iter().enumerate() {
        fixture.store.templates.save_draft(id, &template("x")).await.expect("save");
        for number in 1..=n as u32 {
            publish(&fixture.store, id, number, "x").await.expect("publish");
        }
    }
    let (mut found, mut after) = (Vec::new(), Some(prefix.clone()));
    loop {
        let page = fixture.rival.templates.templates(after, 2).await.expect("a page");
        assert!(page.len() <= 2);
        let Some(last) = page.last().filter(|last| last.id.starts_with(&prefix)) else { break };
        after = Some(last.id.clone());
        found.extend(page);
    }
    found.retain(|listed| listed.id.starts_with(&prefix));
    let shown = |listed: &TemplateListed| (listed.id.clone(), listed.revision, listed.published);
    let expected = ids.into_iter().zip([None, Some(1), Some(2), Some(3), Some(4)]);
    let expected: Vec<_> = expected.map(|(id, published)| (id, 1, published)).collect();
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
}

pub async fn versions_are_read_page_by_page_the_newest_first(fixture: NotificationFixture) {
    let id = id();
    for number in 1..=4 {
        let new =
            NewTemplateVersion { version: version(&id, number, "x"), restores: (number == 4).then_some(2) };
        fixture.store.templates.publish(&new).await.expect("publish");
    }
    assert_eq!(numbers(&fixture.rival, &id, None, 3).await, [4, 3, 2]);
    assert_eq!(numbers(&fixture.rival, &id, Some(2), 3).await, [1]);
    let all = fixture.rival.templates.versions(&id, None, 10).await.expect("versions");
    assert_eq!(all.iter().map(|one| one.restores).collect::<Vec<_>>(), [Some(2), None, None, None]);
    assert!(all.iter().all(|one| one.age < Duration::from_secs(600)));
}

async fn publish(ports: &NotificationPorts, id: &str, number: u32, body: &str) -> Result<(), StoreError> {
    let new = NewTemplateVersion { version: version(id, number, body), restores: None };
    ports.templates.publish(&new).await
}

async fn numbers(ports: &NotificationPorts, id: &str, below: Option<u32>, limit: u32) -> Vec<u32> {
    let versions = ports.templates.versions(id, below, limit).await.expect("versions");
    versions.into_iter().map(|version| version.number).collect()
}

fn version(id: &str, number: u32, body: &str) -> TemplateVersion {
    let partials = BTreeMap::from([("footer".to_owned(), template("footer"))]);
    TemplateVersion { id: id.to_owned(), number, template: template(body), partials }
}

fn template(body: &str) -> Template {
    let text = TemplateText { title: None, body: body.to_owned(), html: Some("<p>".to_owned()) };
    let variable = TemplateVariable { default: Some(String::new()), description: None };
    Template {
        default_language: "en".to_owned(),
        variables: Some(BTreeMap::from([("name".to_owned(), variable)])),
        texts: BTreeMap::from([(Channel::Email, BTreeMap::from([("en".to_owned(), text)]))]),
    }
}

/// The id of a template of its own.
fn id() -> String {
    format!("t-{}", Uuid::now_v7())
}
