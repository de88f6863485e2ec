//! Promise: a preview changes nothing; its confirmation revives or purges exactly what was shown, once; a
//! token that only looks, or a board that is read only, changes nothing; payloads and headers are hidden
//! until a POST asks for them

use std::time::Duration;

use axum::http::StatusCode;

use crate::{
    browser::{Browser, Page},
    graveyard::{Graveyard, QUEUE},
};

pub(crate) const QUERY: &str = "queue=orders%26%3Ci%3E%22mails%22%3C%2Fi%3E";

/// The value of a hidden field of a form.
pub(crate) fn field(page: &Page, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.text.split(&start).nth(1).unwrap_or_else(|| panic!("no {name}: {}", page.text));
    rest.split('"').next().unwrap().to_owned()
}

/// Asks for a preview, confirms it, and waits for the end of the work.
pub(crate) async fn carry_out(browser: &Browser, form: &str) -> Page {
    let preview = browser.post("/dead/preview", form).await;
    assert_eq!(preview.status, StatusCode::OK, "{preview:?}");
    confirm(browser, &preview).await
}

pub(crate) async fn confirm(browser: &Browser, preview: &Page) -> Page {
    let begun = browser.post("/dead/confirm", &format!("preview={}", field(preview, "preview"))).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{begun:?}");
    loop {
        let page = browser.get(begun.header("location")).await;
        assert_eq!(page.status, StatusCode::OK);
        if !page.shows("still under way") {
            return page;
        }
        assert!(page.shows("http-equiv=\"refresh\"") && page.shows(">Stop</button>"), "{}", page.text);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn letters_are_grouped_by_error_and_a_class_lists_its_own() {
    let graveyard = Graveyard::new();
    let ids = graveyard.bury(&["timed out after 30012 ms", "mailbox full", "timed out after 7 ms"]).await;
    let browser = graveyard.browser();
    let queues = browser.get("/dead").await;
    assert!(queues.shows(&format!("href=\"/dead?{QUERY}\"")), "{}", queues.text);
    let groups = browser.get(&format!("/dead?{QUERY}")).await;
    let (timed_out, full) = (
        "timed out after # ms</bdi></a></th><td class=\"number\">2<",
        "mailbox full</bdi></a></th><td class=\"number\">1<",
    );
    assert!(groups.shows(timed_out) && groups.shows(full), "{}", groups.text);
    assert!(groups.text.find(timed_out) < groups.text.find(full), "the most frequent comes first");
    let of_class = browser.get(&format!("/dead/letters?{QUERY}&class=timed+out+after+%23+ms")).await;
    for (id, is_listed) in ids.iter().zip([true, false, true]) {
        assert_eq!(of_class.shows(&format!("/dead/letters/{id}")), is_listed, "{}", of_class.text);
    }
    assert!(of_class.shows("<bdi>timed out after 30012 ms</bdi>") && !of_class.shows("rel=\"next\""));
}

#[tokio::test(start_paused = true)]
async fn a_list_names_every_letter_once_page_by_page_and_reads_no_payload() {
    let graveyard = Graveyard::new();
    let mut ids = graveyard.bury(&vec!["no"; 120]).await;
    ids.reverse();
    let browser = graveyard.browser();
    let (mut path, mut found) = (format!("/dead/letters?{QUERY}"), Vec::new());
    loop {
        let page = browser.get(&path).await;
        let rows = page.text.split("<code>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned());
        let rows: Vec<String> = rows.collect();
        assert!(rows.len() <= 50 && !page.shows("alert("));
        found.extend(rows);
        let Some(next) = page.text.split("rel=\"next\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    }
    assert_eq!(found, ids.iter().map(ToString::to_string).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_said_of_a_person_is_hidden_until_a_user_asks_for_it() {
    let graveyard = Graveyard::new();
    let id = graveyard.bury_one("notification-messages", "550 no mailbox eve@example.com").await;
    let browser = Browser::guarded(&graveyard.store).sign_in("looks").await;
    for page in [format!("/dead/letters/{id}"), "/dead/letters?queue=notification-messages".into()] {
        let page = browser.get(&page).await;
        assert!(page.shows("550 no mailbox #") && !page.shows("eve@example.com"), "{}", page.text);
    }
    let shown = browser.post(&format!("/dead/letters/{id}/payload"), "").await;
    assert!(shown.shows("550 no mailbox eve@example.com"), "{}", shown.text);
}

#[tokio::test(start_paused = true)]
async fn a_payload_is_hidden_until_a_user_asks_for_it_by_a_post() {
    let graveyard = Graveyard::new();
    let id = graveyard.bury(&["<script>alert('reason')</script>"]).await[0];
    let browser = Browser::guarded(&graveyard.store).sign_in("looks").await;
    let page = browser.get(&format!("/dead/letters/{id}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.shows("33 bytes") && page.shows("text/&#60;b&#62;") && page.shows("k-&#60;u&#62;"),
        "{}",
        page.text
    );
    assert!(!page.shows("payload&#39;)") && !page.shows("ann@example.com"), "{}", page.text);
    let shown = browser.post(&format!("/dead/letters/{id}/payload"), "").await;
    assert!(
        shown.shows("&#60;script&#62;alert(&#39;payload&#39;)") && shown.shows("ann@example.com"),
        "{}",
        shown.text
    );
    assert!(!shown.shows("<script"), "{}", shown.text);
    assert_eq!(
        browser.get(&format!("/dead/letters/{id}/payload")).await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    let unknown = browser.get("/dead/letters/01890a5d-ac96-774b-bcce-b302099a8057").await;
    assert!(unknown.status == StatusCode::NOT_FOUND && unknown.shows("no dead letter with this id"));
    assert_eq!(browser.get("/dead/letters/7").await.status, StatusCode::NOT_FOUND);
}

/// Guard: messages that died after the preview are left alone | src/dead_letter_job.rs `step`: `dead_for: None`
/// Guard: a dead letter of another error is left alone | src/selection.rs `means`: no look at the class
#[tokio::test(start_paused = true)]
async fn a_preview_changes_nothing_and_its_confirmation_does_exactly_what_it_has_shown() {
    let graveyard = Graveyard::new();
    let ids = graveyard.bury(&["mailbox full", "timed out after 1 ms", "mailbox full"]).await;
    let browser = graveyard.browser();
    let form = format!("action=purge&{QUERY}&class=mailbox+full");
    let preview = browser.post("/dead/preview", &form).await;
    assert!(
        preview.shows("<strong>2</strong> letters") && preview.shows("deleted for good"),
        "{}",
        preview.text
    );
    assert_eq!(graveyard.dead_and_due().await, (3, 0));
    let late = graveyard.bury_one(QUEUE, "mailbox full").await;
    let elsewhere = graveyard.bury_one("other", "mailbox full").await;
    // The board's clock goes on; the store's stands still.
    tokio::time::advance(Duration::from_secs(1)).await;
    let done = confirm(&browser, &preview).await;
    assert!(done.shows("<strong>2</strong> purged, 4 looked at"), "{}", done.text);
    let mut left = graveyard.dead().await;
    left.sort();
    let mut expected = vec![ids[1], late, elsewhere];
    expected.sort();
    assert_eq!(left, expected, "what died after the preview stays, and other classes and queues");
    let again = browser.post("/dead/confirm", &format!("preview={}", field(&preview, "preview"))).await;
    assert!(again.status == StatusCode::BAD_REQUEST && again.shows("confirmed before"), "{}", again.text);
}

#[tokio::test(start_paused = true)]
async fn all_letters_of_a_queue_are_revived_in_steps() {
    let graveyard = Graveyard::new();
    graveyard.bury(&vec!["no"; 450]).await;
    graveyard.bury_one("other", "no").await;
    graveyard.store.advance(Duration::from_secs(1));
    let done = carry_out(&graveyard.browser(), &format!("action=revive&{QUERY}")).await;
    assert!(done.shows("<strong>450</strong> revived, 450 looked at"), "{}", done.text);
    assert_eq!(graveyard.dead_and_due().await, (1, 450));
}

#[tokio::test(start_paused = true)]
async fn one_letter_is_revived_or_purged_alone() {
    let graveyard = Graveyard::new();
    let ids = graveyard.bury(&["no", "no", "no"]).await;
    let browser = graveyard.browser();
    assert!(
        carry_out(&browser, &format!("action=revive&{QUERY}&id={}", ids[0]))
            .await
            .shows("<strong>1</strong> revived")
    );
    assert!(
        carry_out(&browser, &format!("action=purge&{QUERY}&id={}", ids[1]))
            .await
            .shows("<strong>1</strong> purged")
    );
    assert_eq!((graveyard.dead().await, graveyard.dead_and_due().await), (vec![ids[2]], (1, 1)));
    let nothing = browser.post("/dead/preview", &format!("action=purge&{QUERY}&id={}", ids[1])).await;
    assert!(nothing.shows("Nothing matches") && !nothing.shows("name=\"preview\""), "{}", nothing.text);
}

/// Guard: changes need the right to change | src/board.rs `router`: no layer `changing`
#[tokio::test(start_paused = true)]
async fn only_a_token_that_may_change_something_does() {
    let graveyard = Graveyard::new();
    let id = graveyard.bury(&["no"]).await[0];
    let form = format!("action=purge&{QUERY}");
    let looks = Browser::guarded(&graveyard.store).sign_in("looks").await;
    let read_only = graveyard.read_only().sign_in("changes").await;
    for (browser, why) in [(looks, "scope admin"), (read_only, "board.read_only is set")] {
        for path in ["/dead/preview", "/dead/confirm", "/dead/work/01890a5d-ac96-774b-bcce-b302099a8057/stop"]
        {
            let page = browser.post(path, &form).await;
            assert!(page.status == StatusCode::FORBIDDEN && page.shows(why), "{path}: {}", page.text);
        }
        for path in
            [format!("/dead?{QUERY}"), format!("/dead/letters?{QUERY}"), format!("/dead/letters/{id}")]
        {
            let page = browser.get(&path).await;
            assert!(page.status == StatusCode::OK && !page.shows("/dead/preview"), "{}", page.text);
        }
    }
    let changes = Browser::guarded(&graveyard.store).sign_in("changes").await;
    let preview = changes.post("/dead/preview", &form).await;
    let by = confirm(&changes, &preview).await;
    assert!(
        by.shows("begun by <bdi>changes-&#60;b&#62;</bdi>") && by.shows("<strong>1</strong> purged"),
        "{}",
        by.text
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_understood_is_refused_with_a_sentence() {
    let browser = Graveyard::new().browser();
    for (path, form, why) in [
        ("/dead/preview", format!("action=burn&{QUERY}"), "Choose to revive or to purge."),
        ("/dead/preview", "action=purge".into(), "Choose a queue first."),
        ("/dead/preview", "action=purge&queue=".to_owned() + &"x".repeat(65), "queue"),
        ("/dead/preview", format!("action=purge&{QUERY}&id=7"), "id"),
        ("/dead/confirm", "preview=7".into(), "nothing was changed"),
        ("/dead/confirm", String::new(), "nothing was changed"),
    ] {
        let page = browser.post(path, &form).await;
        assert!(page.status == StatusCode::BAD_REQUEST && page.shows(why), "{form}: {}", page.text);
    }
    for path in ["/dead/letters", "/dead/letters?queue=q&after=7", "/dead/letters?queue=q&id=x"] {
        assert_eq!(browser.get(path).await.status, StatusCode::BAD_REQUEST, "{path}");
    }
    let none = browser.get("/dead/work/01890a5d-ac96-774b-bcce-b302099a8057").await;
    assert!(none.status == StatusCode::NOT_FOUND && none.shows("been restarted"), "{}", none.text);
}
