use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

/// The style of all pages.
pub(crate) async fn show() -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("max-age=300")),
    ];
    (headers, include_str!("../../assets/board.css")).into_response()
}
