//! What people do: sign in, look, find, revive, purge, cancel; with a mouse, with the keyboard alone, and where no script runs.
//! Promise: a person signs in, looks, revives and purges on the board with the keyboard alone, and without
//! scripts

use claimstream_browser_tests::{Failure, HOSTILE, QUEUE, Session, Site, USER, eventually};
use thirtyfour::{By, Key};

use crate::{Case, Outcome, Visit, cases, examined::has_no_faults};

pub(crate) fn cases() -> Vec<(&'static str, Case)> {
    cases!["actions":
        a_token_opens_the_board_and_a_wrong_one_does_not,
        a_token_that_looks_is_shown_no_button_and_refused_what_it_sends,
        a_board_that_is_read_only_shows_no_button_and_refuses_what_is_sent,
        what_a_preview_has_shown_is_revived_and_counted,
        what_a_preview_has_shown_is_purged_and_counted,
        a_long_work_shows_how_far_it_is_and_is_stopped,
        a_queue_is_paused_and_resumed_and_the_audit_log_names_who_did_it,
        a_lease_is_released_after_its_warning,
        the_keyboard_alone_signs_in_and_revives,
        everything_works_where_no_script_runs,
        what_is_looked_for_is_found_and_what_cannot_be_is_refused,
        what_is_pending_of_a_request_is_cancelled_after_a_preview,
    ]
}

async fn a_token_opens_the_board_and_a_wrong_one_does_not(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    session.goto(site.at("/dead")).await?;
    assert!(session.current_url().await?.path() == "/sign-in", "the board lets no user in");
    has_no_faults(&visit, "sign in").await?;
    for wrong in ["", "wrong", &tokens.looks[1..]] {
        if !wrong.is_empty() {
            session.sign_in(wrong).await?;
            assert!(session.text("[role=alert]").await?.contains("no such token"));
        }
        assert!(!session.has("nav").await?);
    }
    visit.screenshots.take(session, "wrong token").await?;
    let wrong = session.findings().await?.barriers;
    assert!(wrong.is_empty(), "{wrong:#?}");
    session.sign_in(&tokens.looks).await?;
    assert_eq!(session.text("h1").await?, "Queues");
    has_no_faults(&visit, "signed in").await?;
    assert!(session.text("header").await?.contains("Signed in as looks"));
    session.press("Sign out").await?;
    session.goto(site.at("/")).await?;
    assert_eq!(session.text("h1").await?, "Sign in");
    Ok(())
}

async fn a_token_that_looks_is_shown_no_button_and_refused_what_it_sends(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.sign_in(&tokens.looks).await?;
    changes_nothing(&site, session, "Not allowed").await
}

async fn a_board_that_is_read_only_shows_no_button_and_refuses_what_is_sent(visit: Visit) -> Outcome {
    let (site, session) = (Site::read_only().await?, &visit.session);
    changes_nothing(&site, session, "Read only").await
}

/// Goes to all dead letters of the queue, and to one; then has the page send what its buttons would have sent.
async fn changes_nothing(site: &Site, session: &Session, refusal: &str) -> Outcome {
    let before = site.dead_and_due(QUEUE).await?;
    session.goto(site.at("/")).await?;
    session.follow("61").await?;
    assert!(!session.has("main form").await?, "{}", session.main().await?);
    session.follow("All of them in a list").await?;
    assert!(!session.has("main form").await?, "{}", session.main().await?);
    let send = "const form = document.createElement('form'); form.method = 'post'; form.action = '/dead/preview'; \
                for (const [name, value] of [['queue', arguments[0]], ['action', 'purge']]) { \
                    const input = document.createElement('input'); input.name = name; input.value = value; form.append(input); \
                } document.body.append(form); const button = document.createElement('button'); button.textContent = 'Send'; \
                form.append(button);";
    session.execute(send, [QUEUE.into()]).await?;
    session.press("Send").await?;
    assert_eq!(session.text("h1").await?, refusal);
    assert_eq!(site.dead_and_due(QUEUE).await?, before);
    Ok(())
}

async fn what_a_preview_has_shown_is_revived_and_counted(visit: Visit) -> Outcome {
    let (mut site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.follow("61").await?;
    session.follow("timed out after # ms").await?;
    session.press("Revive them all …").await?;
    assert!(session.main().await?.contains("60 letters"), "{}", session.main().await?);
    // This one died after the preview.
    site.bury("other", &["timed out after 99 ms".to_owned()]).await?;
    assert_eq!(site.dead_and_due(QUEUE).await?, (61, 1), "a preview changes nothing");
    session.press("Revive 60").await?;
    let end = end_of_work(session).await?;
    assert!(end.contains("60 revived"), "{end}");
    has_no_faults(&visit, "revived").await?;
    assert_eq!(site.dead_and_due(QUEUE).await?, (1, 61));
    session.follow("Dead letters of this queue").await?;
    assert!(!session.main().await?.contains("timed out"), "{}", session.main().await?);
    Ok(())
}

async fn what_a_preview_has_shown_is_purged_and_counted(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.follow("61").await?;
    session.follow("mailbox full").await?;
    session.press("Purge them all …").await?;
    session.follow("Back without a change").await?;
    assert_eq!(site.dead_and_due(QUEUE).await?, (61, 1));
    session.follow("mailbox full").await?;
    session.press("Purge them all …").await?;
    session.press("Purge 1").await?;
    let end = end_of_work(session).await?;
    assert!(end.contains("1 purged"), "{end}");
    assert_eq!(site.dead_and_due(QUEUE).await?, (60, 1));
    Ok(())
}

/// What the page of a work says when it has ended; the page reloads itself until then.
async fn end_of_work(session: &Session) -> Result<String, Failure> {
    let has_ended = || async {
        let text = session.main().await.unwrap_or_default();
        Ok::<_, Failure>(text.contains("was looked at") || text.contains("has stopped it"))
    };
    eventually("the work ends", has_ended).await?;
    session.main().await
}

async fn a_long_work_shows_how_far_it_is_and_is_stopped(visit: Visit) -> Outcome {
    let (mut site, session) = (Site::for_everyone().await?, &visit.session);
    for _ in 0..10 {
        site.bury("many", &vec!["away".to_owned(); 300]).await?;
    }
    session.goto(site.at("/dead?queue=many")).await?;
    session.press("Revive all of this queue …").await?;
    // The click is noted before the work begins, so the database takes that in before it is held.
    let (pressed, held) = tokio::join!(session.press("Revive 3,000"), site.hold_after("revive"));
    let (_, held) = (pressed?, held?);
    assert!(session.main().await?.contains("It is still under way"), "{}", session.main().await?);
    session.follow("Stop refreshing").await?;
    assert!(
        !session.has("meta[http-equiv=refresh]").await?,
        "a page reloads itself only as long as it is wanted"
    );
    has_no_faults(&visit, "under way").await?;
    // The click is noted too, as soon as the database takes it.
    let free = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        drop(held);
    };
    let (stopped, ()) = tokio::join!(session.press("Stop"), free);
    stopped?;
    let end = end_of_work(session).await?;
    assert!(end.contains("has stopped it"), "{end}");
    let (dead, due) = site.dead_and_due("many").await?;
    assert!(due > 0 && due < 3_000 && due.is_multiple_of(200), "the step under way was the last one: {due}");
    assert_eq!(dead, 3_000 - due);
    Ok(())
}

async fn a_queue_is_paused_and_resumed_and_the_audit_log_names_who_did_it(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.sign_in(&tokens.changes).await?;
    session.follow(QUEUE).await?;
    session.find(By::Css("#why")).await?.send_keys("the gateway is moved").await?;
    session.press("Pause").await?;
    let said = session.main().await?;
    assert!(said.contains("Paused for") && said.contains("the gateway is moved"), "{said}");
    assert_eq!(site.paused().await?, [HOSTILE, QUEUE]);
    has_no_faults(&visit, "paused").await?;
    session.follow("Queues").await?;
    assert!(session.main().await?.contains("the gateway is moved"), "{}", session.main().await?);
    session.follow(QUEUE).await?;
    session.press("Resume").await?;
    assert!(!session.main().await?.contains("Paused for"), "{}", session.main().await?);
    assert_eq!(site.paused().await?, [HOSTILE]);
    session.follow("Audit").await?;
    let audit = session.main().await?;
    let places =
        ["resume queue orders", "pause queue orders", "alert('subject')"].map(|text| audit.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{audit}");
    assert!(audit.contains("changes<img src=x onerror=alert(3)>") && !audit.contains("gateway"), "{audit}");
    has_no_faults(&visit, "audit").await
}

async fn a_lease_is_released_after_its_warning(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/instances")).await?;
    session.follow("Leases of shards").await?;
    let lease = site.held_shards().await?;
    assert_eq!(lease, 1, "a relay holds a shard");
    let button = session.text("main table button").await?;
    session.press(&button).await?;
    let warning = session.main().await?;
    assert!(warning.contains("a handler may run twice") && warning.contains("alert('holder')"), "{warning}");
    session.follow("Back without a change").await?;
    assert_eq!(site.held_shards().await?, 1);
    session.press(&button).await?;
    session.press("Release the lease").await?;
    assert!(session.main().await?.contains("2 messages are due again"), "{}", session.main().await?);
    has_no_faults(&visit, "lease released").await?;
    assert_eq!(site.held_shards().await?, 0);
    session.follow("Leases of this queue").await?;
    assert!(!session.has("main table button").await?, "{}", session.main().await?);
    Ok(())
}

/// Presses Tab until this has the focus, as its text or its name in the form says.
async fn tab_to(session: &Session, wanted: &str) -> Outcome {
    for _ in 0..60 {
        session.action_chain().send_keys(Key::Tab).perform().await?;
        let focused = session.active_element().await?;
        let said = (focused.text().await?, focused.attr("name").await?.unwrap_or_default());
        if said.0.trim() == wanted || said.1 == wanted {
            let ring = focused.css_value("outline-style").await?;
            assert_ne!(ring, "none", "no outline shows that {wanted} has the focus");
            return Ok(());
        }
    }
    Err(format!("Tab does not lead to {wanted}").into())
}

async fn enter(session: &Session) -> Outcome {
    let focused = session.active_element().await?;
    session.leave_by(async { Ok(focused.send_keys(Key::Enter).await?) }).await
}

async fn the_keyboard_alone_signs_in_and_revives(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    session.goto(site.at("/")).await?;
    tab_to(session, "token").await?;
    session.action_chain().send_keys(&*tokens.changes).perform().await?;
    enter(session).await?;
    session.action_chain().send_keys(Key::Tab).perform().await?;
    assert_eq!(session.active_element().await?.text().await?, "Skip to the content");
    assert!(
        session.active_element().await?.rect().await?.x >= 0.0,
        "the first link is seen once it has the focus"
    );
    session.active_element().await?.send_keys(Key::Enter).await?;
    tab_to(session, "61").await?;
    enter(session).await?;
    for (target, title) in [("mailbox full", "Dead letters of orders"), ("Revive them all …", "Revive?")] {
        tab_to(session, target).await?;
        enter(session).await?;
        assert_eq!(session.text("h1").await?, title);
    }
    tab_to(session, "Revive 1").await?;
    enter(session).await?;
    let end = end_of_work(session).await?;
    assert!(end.contains("1 revived"), "{end}");
    assert_eq!(site.dead_and_due(QUEUE).await?, (60, 2));
    Ok(())
}

async fn everything_works_where_no_script_runs(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    session.without_scripts().await?;
    session.goto("data:text/html,<p>no script</p><script>document.querySelector('p').textContent = 'a script'</script>").await?;
    assert_eq!(session.text("p").await?, "no script", "scripts are switched off");
    session.goto(site.at("/")).await?;
    session.sign_in(&tokens.changes).await?;
    session.follow("61").await?;
    session.follow("mailbox full").await?;
    session.press("Revive them all …").await?;
    session.press("Revive 1").await?;
    let end = end_of_work(session).await?;
    assert!(end.contains("1 revived"), "{end}");
    assert_eq!(site.dead_and_due(QUEUE).await?, (60, 2));
    session.follow("Queues").await?;
    session.follow(QUEUE).await?;
    session.press("Pause").await?;
    assert_eq!(site.paused().await?, [HOSTILE, QUEUE]);
    session.press("Resume").await?;
    assert_eq!(site.paused().await?, [HOSTILE]);
    Ok(())
}

/// Fills the form of the page that finds things, and sends it.
async fn look_for(session: &Session, by: &str, text: &str, queue: &str) -> Outcome {
    session.follow("Find").await?;
    let of = async |css: String| session.find(By::Css(css)).await;
    of(format!("option[value={by}]")).await?.click().await?;
    of("#text".into()).await?.send_keys(text).await?;
    of("#queue".into()).await?.send_keys(queue).await?;
    session.press("Find").await
}

async fn what_is_looked_for_is_found_and_what_cannot_be_is_refused(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    let key = "<script>alert('key')</script>";
    let id = site.enqueue_unique(key).await?;
    session.goto(site.at("/")).await?;
    look_for(session, "id", &format!(" {id} "), "").await?;
    assert_eq!(session.text("h1").await?, format!("Message {id}"));
    look_for(session, "dedup_key", key, QUEUE).await?;
    has_no_faults(&visit, "found by dedup key").await?;
    session.follow(&id).await?;
    assert_eq!(session.text("h1").await?, format!("Message {id}"));
    look_for(session, "recipient", USER, "").await?;
    has_no_faults(&visit, "found by recipient").await?;
    let url = session.current_url().await?;
    assert_eq!((url.path(), url.query()), ("/find", None), "no recipient stands in an address");
    session.find(By::Css("tbody td a")).await?.click().await?;
    assert!(session.text("h1").await?.starts_with("Request "));
    look_for(session, "ordering_key", "<b>key</b>", "").await?;
    assert!(session.main().await?.contains("No index leads from an ordering key"));
    has_no_faults(&visit, "no index helps").await
}

async fn what_is_pending_of_a_request_is_cancelled_after_a_preview(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.follow("Requests").await?;
    let id = session.text("tbody th code").await?;
    session.follow(&id).await?;
    session.press("Cancel the request …").await?;
    assert!(session.main().await?.contains("27 pending messages"), "{}", session.main().await?);
    session.follow("Back without a change").await?;
    assert!(session.main().await?.contains("PROCESSING"), "a preview changes nothing");
    session.press("Cancel the request …").await?;
    session.press("Cancel the request").await?;
    let end = session.main().await?;
    assert!(end.contains("27 messages"), "{end}");
    has_no_faults(&visit, "cancelled").await?;
    session.follow("The request").await?;
    let page = session.main().await?;
    assert!(page.contains("CANCELLED") && !page.contains("Cancel the request"), "{page}");
    assert!(
        visit.log.has(&format!("action=\"cancel\" on=\"request {id}\"")),
        "the log says what was cancelled"
    );
    Ok(())
}
