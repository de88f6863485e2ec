//! What an attacker tries: stored scripts, forms and frames of other sites, foreign names, tokens in logs and addresses.
//! Promise: in a browser no text of a message runs as a script, no other site posts or frames a page, and no
//! token is in an address, a page or a log

use axum::{Router, response::Html, routing::get};
use claimstream_browser_tests::{Failure, HOSTILE, QUEUE, Session, Site, Walk};
use thirtyfour::By;
use tokio::net::TcpListener;

use crate::{Case, Outcome, Visit, cases};

pub(crate) fn cases() -> Vec<(&'static str, Case)> {
    cases!["attacks":
        a_script_in_any_text_of_a_message_never_runs,
        a_form_of_another_site_changes_nothing,
        a_frame_of_another_site_stays_empty,
        a_foreign_name_that_leads_here_is_refused,
        a_token_stands_in_no_address_no_page_and_no_log,
        a_payload_is_hidden_until_it_is_asked_for,
        axe_finds_what_is_wrong_with_a_page,
    ]
}

/// Guard: text of a message is escaped | adapters/board/templates/dead_list.html: the reason is `safe`
async fn a_script_in_any_text_of_a_message_never_runs(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    // The visitor's name wants to be a script as well.
    session.goto(site.at("/")).await?;
    session.sign_in(&tokens.changes).await?;
    let (mut walk, mut shown) = (Walk::from(&site.at("/")), String::new());
    while let Some(stop) = walk.next(session).await? {
        // An alert would have made the driver refuse the last command.
        let made = "return [...document.querySelectorAll('script, img, svg, iframe, object, embed, base, b, [onerror], [onload]')] \
                    .map(element => element.outerHTML)";
        let made: Vec<String> = session.execute(made, []).await?.convert()?;
        assert!(made.is_empty(), "{}: {made:?}", stop.shape);
        let complaints = session.complaints().await?;
        assert!(complaints.is_empty(), "{}: {complaints:?}", stop.shape);
        shown.push_str(&session.text("body").await?);
    }
    let texts = [
        "queue",
        "reason",
        "header",
        "payload",
        "requester",
        "recipient",
        "refusal",
        "reference",
        "receipt",
        "name",
        "pause",
        "subject",
        "holder",
        "lock",
    ];
    let texts = texts.map(|what| format!("alert('{what}')"));
    let others = [HOSTILE, "text/<svg/onload=alert(1)>", "<b>key</b>", "<img src=x onerror=alert(3)>"];
    for text in texts.iter().map(String::as_str).chain(others) {
        assert!(shown.contains(text), "no page shows {text}, so nothing is proved of it");
    }
    Ok(())
}

/// A foreign site with one page.
async fn other_site(page: String) -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let router = Router::new().route("/", get(async move || Html(page)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(port)
}

async fn a_form_of_another_site_changes_nothing(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.sign_in(&tokens.changes).await?;
    let page = format!(
        "<!doctype html><form method=post action='{}'><input name=queue value='{QUEUE}'><button name=action value=purge>Win</button></form>",
        site.at("/dead/preview")
    );
    let port = other_site(page).await?;
    // Another site, and another origin of the same site: cookies are sent to the second one.
    for name in ["evil.example", "127.0.0.1"] {
        session.goto(format!("http://{name}:{port}/")).await?;
        session.press("Win").await?;
        assert_eq!(session.text("h1").await?, "From somewhere else", "{name}");
    }
    assert_eq!(site.dead_and_due(QUEUE).await?, (61, 1));
    session.goto(site.at("/")).await?;
    assert_eq!(session.text("h1").await?, "Queues", "the visitor is still signed in");
    Ok(())
}

/// Guard: no site frames a page | adapters/board/src/guard.rs `HEADERS`: neither `frame-ancestors` nor
/// `X-Frame-Options`
async fn a_frame_of_another_site_stays_empty(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    let framed = |address: &str| format!("<!doctype html><iframe src='{address}'></iframe>");
    let harmless = other_site("<!doctype html><h1>Queues</h1>".into()).await?;
    for (address, is_shown) in [(format!("http://127.0.0.1:{harmless}/"), true), (site.at("/"), false)] {
        let port = other_site(framed(&address)).await?;
        for name in ["evil.example", "127.0.0.1"] {
            session.goto(format!("http://{name}:{port}/")).await?;
            session.enter_frame(0).await?;
            let titles = session.find_all(By::Css("h1")).await?.len();
            let is_queues = titles > 0 && session.text("h1").await? == "Queues";
            assert_eq!(is_queues, is_shown, "{address} in a frame of {name}");
            session.enter_default_frame().await?;
        }
    }
    Ok(())
}

async fn a_foreign_name_that_leads_here_is_refused(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(format!("http://evil.example:{}/", site.port())).await?;
    assert_eq!(session.text("h1").await?, "Unknown name");
    Ok(())
}

async fn a_token_stands_in_no_address_no_page_and_no_log(visit: Visit) -> Outcome {
    let ((site, tokens), session) = (Site::with_tokens().await?, &visit.session);
    let wrong = "a-wrong-token-of-a-user";
    session.goto(site.at("/")).await?;
    for token in [wrong, &tokens.changes] {
        session.sign_in(token).await?;
        shows_no_token(session, token).await?;
    }
    session.follow("61").await?;
    shows_no_token(session, &tokens.changes).await?;
    assert_eq!(session.execute("return document.cookie", []).await?.json(), "", "scripts see no cookie");
    let cookies = session.get_all_cookies().await?;
    assert_eq!(cookies.len(), 1);
    assert!(!cookies[0].value.contains(&tokens.changes) && !visit.log.has(&cookies[0].value));
    assert!(visit.log.has("sign in"), "the log is kept");
    assert!(!visit.log.has(&tokens.changes) && !visit.log.has(wrong));
    Ok(())
}

async fn shows_no_token(session: &Session, token: &str) -> Outcome {
    assert!(!session.current_url().await?.as_str().contains(token));
    assert!(!session.source().await?.contains(token));
    Ok(())
}

async fn a_payload_is_hidden_until_it_is_asked_for(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.follow("61").await?;
    session.follow("mailbox full").await?;
    let id = session.text("tbody th code").await?;
    session.follow(&id).await?;
    for secret in ["secret", "ann@example.com"] {
        assert!(!session.source().await?.contains(secret), "{secret} is on the page");
    }
    session.press("Show them").await?;
    let text = session.main().await?;
    assert!(text.contains("secret") && text.contains("ann@example.com"), "{text}");
    assert!(visit.log.has("payload"), "it is logged who has looked");
    Ok(())
}

async fn axe_finds_what_is_wrong_with_a_page(visit: Visit) -> Outcome {
    let page = "<!doctype html><title>x</title><body style='background: #fff'><input><p style='color: #bbb'>hardly seen</p>";
    let port = other_site(page.into()).await?;
    visit.session.goto(format!("http://127.0.0.1:{port}/")).await?;
    let barriers = visit.session.findings().await?.barriers;
    for rule in ["label: ", "color-contrast: ", "html-has-lang: "] {
        assert!(barriers.iter().any(|it| it.starts_with(rule)), "{rule} is not among {barriers:#?}");
    }
    Ok(())
}
