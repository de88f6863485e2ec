use askama::Template;
use axum::{
    Form,
    extract::rejection::FormRejection,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use crate::{
    access::{Access, User},
    audit,
    frame::{Frame, answer},
    guard::{COOKIE, session},
    request_context::RequestContext,
    sessions::Sessions,
};

/// Asks for a token, unless none is needed.
pub(crate) async fn show(context: RequestContext) -> Response {
    match context.app.access {
        Access::Everyone => home(&context),
        Access::Users(_) => answer(StatusCode::OK, &SignInPage { frame: context.frame(), is_wrong: false }),
    }
}

/// Takes a token, and has the browser remember that it was shown.
pub(crate) async fn sign_in(
    context: RequestContext,
    headers: HeaderMap,
    form: Result<Form<TokenForm>, FormRejection>,
) -> Response {
    let Access::Users(users) = &context.app.access else { return home(&context) };
    let token = form.map(|Form(form)| form.token).unwrap_or_default();
    let Some(user) = users.identify(token.trim()) else {
        let page = SignInPage { frame: context.frame(), is_wrong: true };
        return answer(StatusCode::UNAUTHORIZED, &page);
    };
    audit::log_session(&user, "sign in");
    let word = context.app.sessions.begin(user, context.app.now());
    let cookie = cookie(&headers, &word, Sessions::LAST.as_secs());
    ([(header::SET_COOKIE, cookie)], home(&context)).into_response()
}

/// Forgets that a token was shown.
pub(crate) async fn sign_out(context: RequestContext, headers: HeaderMap) -> Response {
    if let Some(word) = session(&headers) {
        if let Some(User { name, right }) = context.app.sessions.user(word, context.app.now()) {
            audit::log_session(&User { name, right }, "sign out");
        }
        context.app.sessions.end(word);
    }
    let to = Redirect::to(&context.frame().to("/sign-in"));
    ([(header::SET_COOKIE, cookie(&headers, "", 0))], to).into_response()
}

fn home(context: &RequestContext) -> Response {
    Redirect::to(&context.frame().to("/")).into_response()
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
