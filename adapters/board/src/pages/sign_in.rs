use askama::Template;
use axum::{
    Form,
    extract::rejection::FormRejection,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use crate::{
    access::{Access, Visitor},
    audit,
    frame::{Frame, answer},
    guard::{COOKIE, session},
    sessions::Sessions,
    visit::Visit,
};

/// Asks for a token, unless none is needed.
pub(crate) async fn show(visit: Visit) -> Response {
    match visit.desk.access {
        Access::Everyone => home(&visit),
        Access::Visitors(_) => answer(StatusCode::OK, &SignInPage { frame: visit.frame(), is_wrong: false }),
    }
}

/// Takes a token, and has the browser remember that it was shown.
pub(crate) async fn sign_in(
    visit: Visit,
    headers: HeaderMap,
    form: Result<Form<TokenForm>, FormRejection>,
) -> Response {
    let Access::Visitors(visitors) = &visit.desk.access else { return home(&visit) };
    let token = form.map(|Form(form)| form.token).unwrap_or_default();
    let Some(visitor) = visitors.identify(token.trim()) else {
        let page = SignInPage { frame: visit.frame(), is_wrong: true };
        return answer(StatusCode::UNAUTHORIZED, &page);
    };
    audit::log_session(&visitor, "sign in");
    let word = visit.desk.sessions.begin(visitor, visit.desk.now());
    let cookie = cookie(&headers, &word, Sessions::LAST.as_secs());
    ([(header::SET_COOKIE, cookie)], home(&visit)).into_response()
}

/// Forgets that a token was shown.
pub(crate) async fn sign_out(visit: Visit, headers: HeaderMap) -> Response {
    if let Some(word) = session(&headers) {
        if let Some(Visitor { name, right }) = visit.desk.sessions.visitor(word, visit.desk.now()) {
            audit::log_session(&Visitor { name, right }, "sign out");
        }
        visit.desk.sessions.end(word);
    }
    let to = Redirect::to(&visit.frame().to("/sign-in"));
    ([(header::SET_COOKIE, cookie(&headers, "", 0))], to).into_response()
}

fn home(visit: &Visit) -> Response {
    Redirect::to(&visit.frame().to("/")).into_response()
}

/// Scripts do not see it, and browsers send it with nothing that another site has begun. Behind a proxy that speaks TLS it stays
/// on encrypted connections.
fn cookie(headers: &HeaderMap, word: &str, seconds: u64) -> String {
    let is_encrypted = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if is_encrypted { "; Secure" } else { "" };
    format!("{COOKIE}={word}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

#[derive(Deserialize)]
pub(crate) struct TokenForm {
    token: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    is_wrong: bool,
}
