//! Promise: without a token no user sees or changes anything on the board, unless it listens on this
//! machine alone; it does nothing for a page of another site or under a foreign host name

use axum::{Router, http::StatusCode};
use claimstream_board::Board;
use claimstream_memory::MemoryStore;

use crate::browser::{Browser, HOST, stores, timer};

/// Every page and action that is not for everybody, with its method.
pub(crate) const INSIDE: [(&str, &str); 22] = [
    ("GET", "/"),
    ("GET", "/queue?queue=q"),
    ("POST", "/queue/pause"),
    ("POST", "/queue/resume"),
    ("GET", "/doctor"),
    ("GET", "/audit"),
    ("GET", "/dead"),
    ("GET", "/dead/letters?queue=q"),
    ("GET", "/dead/letters/01890a5d-ac96-774b-bcce-b302099a8057"),
    ("POST", "/dead/letters/01890a5d-ac96-774b-bcce-b302099a8057/payload"),
    ("POST", "/dead/preview"),
    ("POST", "/dead/confirm"),
    ("GET", "/dead/work/01890a5d-ac96-774b-bcce-b302099a8057"),
    ("POST", "/dead/work/01890a5d-ac96-774b-bcce-b302099a8057/stop"),
    ("GET", "/instances"),
    ("GET", "/leases"),
    ("GET", "/locks"),
    ("POST", "/leases/preview"),
    ("POST", "/leases/release"),
    ("POST", "/locks/preview"),
    ("POST", "/locks/release"),
    ("GET", "/no-such-page"),
];

const FORM: &str = "application/x-www-form-urlencoded";

/// Guard: pages need a known user | src/board.rs `router`: no layer `known`
#[tokio::test(start_paused = true)]
async fn no_user_sees_a_page_or_does_anything_without_a_token() {
    let browser = Browser::guarded(&MemoryStore::new());
    for (method, path) in INSIDE {
        let site = [("sec-fetch-site", "same-origin"), ("content-type", FORM)];
        let page = browser.call(method, path, &site, "").await;
        match method {
            "GET" => {
                assert_eq!(
                    (page.status, page.header("location")),
                    (StatusCode::SEE_OTHER, "/sign-in"),
                    "{path}"
                );
            }
            _ => assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{path}"),
        }
        for wrong in ["Bearer ", "Bearer looked", "Basic looks", "looks", "Bearer looks looks"] {
            let headers = [("authorization", wrong), site[0], site[1]];
            let page = browser.call(method, path, &headers, "").await;
            assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{method} {path} {wrong}");
            assert_eq!(page.header("www-authenticate"), "Bearer");
            assert!(!page.shows("<nav"), "{}", page.text);
        }
        let forged = [("cookie", "claimstream_board=looks"), site[0], site[1]];
        let page = browser.call(method, path, &forged, "").await;
        assert!([StatusCode::SEE_OTHER, StatusCode::UNAUTHORIZED].contains(&page.status), "{page:?}");
    }
    let page = browser.call("GET", "/", &[("authorization", "Bearer looks")], "").await;
    assert_eq!(page.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_shown_once_and_the_browser_keeps_a_word_that_scripts_do_not_see() {
    let browser = Browser::guarded(&MemoryStore::new());
    let page = browser.get("/sign-in").await;
    assert!(page.status == StatusCode::OK && page.shows("<label for=\"token\">") && !page.shows("<nav"));
    let wrong = browser.post("/sign-in", "token=looked").await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(
        wrong.shows("knows no such token") && wrong.header("set-cookie").is_empty() && !wrong.shows("looked")
    );
    assert_eq!(browser.post("/sign-in", "").await.status, StatusCode::UNAUTHORIZED);
    let right = browser.post("/sign-in", "token=looks").await;
    let cookie = right.header("set-cookie");
    assert_eq!((right.status, right.header("location")), (StatusCode::SEE_OTHER, "/"));
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"), "{cookie}");
    assert!(!cookie.contains("looks"), "{cookie}");
    let tls = [("sec-fetch-site", "same-origin"), ("content-type", FORM), ("x-forwarded-proto", "https")];
    let page = browser.call("POST", "/sign-in", &tls, "token=looks").await;
    assert!(page.header("set-cookie").ends_with("; Secure"), "{page:?}");
    let inside = browser.sign_in("looks").await;
    let page = inside.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.shows("Signed in as <bdi>looks-&#60;b&#62;</bdi>"), "{}", page.text);
    let out = inside.post("/sign-out", "").await;
    assert!(out.header("set-cookie").contains("Max-Age=0"), "{out:?}");
    assert_eq!(inside.get("/").await.status, StatusCode::SEE_OTHER);
}

/// Guard: a page of another site changes nothing | src/guard.rs `admit`: no `is_from_here`
#[tokio::test(start_paused = true)]
async fn nothing_is_changed_for_a_page_of_another_site() {
    for browser in
        [Browser::on(&MemoryStore::new()), Browser::guarded(&MemoryStore::new()).sign_in("changes").await]
    {
        let posts = INSIDE.into_iter().chain([("POST", "/sign-in"), ("POST", "/sign-out")]);
        for (_, path) in posts.filter(|(method, _)| *method == "POST") {
            let foreign: [&[(&str, &str)]; 5] = [
                &[],
                &[("sec-fetch-site", "cross-site")],
                &[("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:8081")],
                &[("origin", "http://evil.example")],
                &[("origin", "null")],
            ];
            for headers in foreign {
                let page = browser.call("POST", path, headers, "").await;
                assert_eq!(page.status, StatusCode::FORBIDDEN, "{path} {headers:?}");
                assert!(page.shows("Only pages of the board itself"), "{}", page.text);
            }
        }
        let ours = [("origin", "http://127.0.0.1:8081"), ("content-type", FORM)];
        assert_ne!(browser.call("POST", "/sign-out", &ours, "").await.status, StatusCode::FORBIDDEN);
    }
}

/// Guard: a request under a foreign host name is refused | src/guard.rs `admit`: no look at the hosts
#[tokio::test(start_paused = true)]
async fn a_name_that_leads_here_and_is_not_ours_is_refused() {
    let board = Board::for_everyone(stores(&MemoryStore::new()), timer()).with_hosts(["ops.example.com"]);
    let browser = Browser::of(board.router());
    for (host, status) in [
        (HOST, StatusCode::OK),
        ("localhost:8081", StatusCode::OK),
        ("OPS.example.com", StatusCode::OK),
        ("evil.example:8081", StatusCode::MISDIRECTED_REQUEST),
        ("", StatusCode::MISDIRECTED_REQUEST),
    ] {
        for path in ["/", "/sign-in", "/board.css"] {
            let page = browser.call("GET", path, &[("host", host)], "").await;
            let as_ever = page.status == StatusCode::OK || page.status == StatusCode::SEE_OTHER;
            assert_eq!(as_ever, status == StatusCode::OK, "{host} {path} {}", page.status);
            assert!(as_ever || page.status == status && page.shows("board.hosts"), "{}", page.text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_answer_has_headers_that_keep_scripts_and_frames_out() {
    let browser = Browser::guarded(&MemoryStore::new());
    for path in ["/", "/sign-in", "/board.css", "/no-such-page"] {
        let page = browser.call("GET", path, &[("authorization", "Bearer looks")], "").await;
        assert_eq!(
            page.header("content-security-policy"),
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
            "{path}"
        );
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("x-frame-options"), "DENY");
        // With no-referrer a browser would call the origin of our own forms null.
        assert_eq!(page.header("referrer-policy"), "same-origin");
        assert_eq!(
            page.header("cache-control"),
            if path == "/board.css" { "max-age=300" } else { "no-store" }
        );
        assert!(
            !page.shows("<script") && !page.shows(" style=") && !page.shows(" onclick="),
            "{}",
            page.text
        );
    }
    assert_eq!(
        browser.call("DELETE", "/", &[("sec-fetch-site", "same-origin")], "").await.status.as_u16(),
        405
    );
}

#[tokio::test(start_paused = true)]
async fn it_is_mounted_under_a_path_of_another_service() {
    let board = Board::for_everyone(stores(&MemoryStore::new()), timer());
    let shop = || Router::new().route("/", axum::routing::get(async || "shop"));
    let nested = Browser::of(shop().nest("/ops/board", board.router()));
    let served = Browser::of(shop().nest_service("/ops/board", board.router()));
    for (browser, path) in [(&nested, "/ops/board"), (&served, "/ops/board"), (&served, "/ops/board/")] {
        assert_eq!(browser.get("/").await.text, "shop");
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(
            page.shows("href=\"/ops/board/board.css\"") && page.shows("<a href=\"/ops/board\">Queues</a>"),
            "{}",
            page.text
        );
        assert_eq!(browser.get("/ops/board/board.css").await.status, StatusCode::OK);
        let missing = browser.get("/ops/board/no-such-page").await;
        assert!(
            missing.status == StatusCode::NOT_FOUND && missing.shows("href=\"/ops/board\""),
            "{missing:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_long_is_refused() {
    let browser = Browser::guarded(&MemoryStore::new());
    let page = browser.post("/sign-in", &format!("token={}", "x".repeat(20_000))).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
}
