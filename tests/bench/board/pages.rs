use std::{
    collections::{BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use tower::ServiceExt;

use crate::Failure;

/// The pages that links lead to from the first one, one of each kind.
pub(crate) struct Pages(Vec<Page>);

/// A page.
pub(crate) struct Page {
    /// Its kind: the address without the parts that differ from one message to another.
    pub(crate) shape: String,
    pub(crate) address: String,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) took: Duration,
    /// Whether it is the page that was asked for, and not one that says why there is none.
    pub(crate) is_whole: bool,
    text: String,
}

/// Gets a page; a server that is slow or refuses may answer with another page, and anything else is a failure.
pub(crate) async fn read(router: &Router, address: &str) -> Result<Answer, Failure> {
    let request = Request::get(address).header("host", "127.0.0.1").body(Body::empty())?;
    let begun = Instant::now();
    let response = router.clone().oneshot(request).await?;
    let status = response.status();
    let body = to_bytes(response.into_body(), 16 << 20).await?;
    let (took, text) = (begun.elapsed(), String::from_utf8_lossy(&body).into_owned());
    match status {
        StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE => {
            Ok(Answer { took, is_whole: status == StatusCode::OK, text })
        }
        other => Err(format!("{address}: {other}: {text}").into()),
    }
}

impl Pages {
    /// Follows links from the overview.
    pub(crate) async fn find(router: &Router) -> Result<Self, Failure> {
        let (mut pages, mut seen) = (Vec::new(), BTreeSet::from(["/".to_owned()]));
        let mut ahead = VecDeque::from(["/".to_owned()]);
        while let Some(address) = ahead.pop_front() {
            let answer = read(router, &address).await?;
            for link in links(&answer.text) {
                if seen.insert(shape(&link)) {
                    ahead.push_back(link);
                }
            }
            pages.push(Page { shape: shape(&address), address });
        }
        Ok(Self(pages))
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Page] {
        &self.0
    }
}

/// The pages of the board that a page links to.
fn links(text: &str) -> Vec<String> {
    let after = text.split("<a ").skip(1).filter_map(|tag| tag.split_once("href=\"")).map(|(_, rest)| rest);
    let links = after
        .filter_map(|rest| rest.split_once('"'))
        .map(|(link, _)| link.replace("&amp;", "&").replace("&#38;", "&"));
    links.filter(|link| link.starts_with('/')).collect()
}

/// An address without what differs from one queue, error or message to another.
fn shape(address: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let path: Vec<_> =
        path.split('/').map(|part| if part.is_empty() || is_word(part) { part } else { "#" }).collect();
    let names: Vec<_> =
        query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        true => path.join("/"),
        false => format!("{}?{}", path.join("/"), names.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_have_a_shape() {
        let text = r##"<a class="skip" href="#main">x</a> <a href="/dead/letters?queue=a&#38;class=b+c">y</a><a href="/dead/letters/0199-7F">z</a>"##;
        let found = links(text);
        assert_eq!(found, ["/dead/letters?queue=a&class=b+c", "/dead/letters/0199-7F"]);
        let shapes: Vec<_> = found.iter().map(|link| shape(link)).collect();
        assert_eq!(shapes, ["/dead/letters?queue&class", "/dead/letters/#"]);
    }
}
