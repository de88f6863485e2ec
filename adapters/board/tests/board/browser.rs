use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode, header},
};
use claimstream_board::{Board, BoardStores, Right, User, Users};
use claimstream_memory::MemoryStore;
use claimstream_ports::Timer;
use claimstream_tokio::TokioTimer;
use tower::ServiceExt;

/// A user of a board: calls its router as a browser does.
pub(crate) struct Browser {
    router: Router,
    /// What it sends with every request.
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// Knows `looks` and `changes`, named by what they may do.
pub(crate) struct TwoTokens;

impl Users for TwoTokens {
    fn identify(&self, token: &str) -> Option<User> {
        let right = match token {
            "looks" => Right::Look,
            "changes" => Right::Change,
            _ => return None,
        };
        Some(User { name: format!("{token}-<b>"), right })
    }
}

pub(crate) const HOST: &str = "127.0.0.1:8081";

pub(crate) fn stores(store: &MemoryStore) -> BoardStores {
    BoardStores::of(Arc::new(store.clone()))
}

/// The timer of a board; it follows the paused time of a test.
pub(crate) fn timer() -> Arc<dyn Timer> {
    Arc::new(TokioTimer::new())
}

impl Browser {
    pub(crate) fn of(router: Router) -> Self {
        Self { router, headers: vec![("host", HOST.into())] }
    }

    /// In front of a board for everyone.
    pub(crate) fn on(store: &MemoryStore) -> Self {
        Self::of(Board::for_everyone(stores(store), timer()).router())
    }

    /// In front of a board that asks for a token.
    pub(crate) fn guarded(store: &MemoryStore) -> Self {
        Self::of(Board::for_users(stores(store), timer(), Arc::new(TwoTokens)).router())
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        self.call("GET", path, &[], "").await
    }

    /// Sends a form from a page of the board.
    pub(crate) async fn post(&self, path: &str, form: &str) -> Page {
        let ours = [("sec-fetch-site", "same-origin"), ("content-type", "application/x-www-form-urlencoded")];
        self.call("POST", path, &ours, form).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Page {
        let mut request = Request::builder().method(method).uri(path);
        let usual = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in usual.filter(|(name, _)| headers.iter().all(|(other, _)| other != name)) {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Page { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// Signs in, and remembers the cookie.
    pub(crate) async fn sign_in(mut self, token: &str) -> Self {
        let page = self.post("/sign-in", &format!("token={token}")).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{page:?}");
        let cookie = page.header(header::SET_COOKIE.as_str()).split(';').next().unwrap().to_owned();
        self.headers.push(("cookie", cookie));
        self
    }
}

impl Page {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Whether the page shows a text, as it is after escaping.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.text.contains(text)
    }
}
