/// Whether a POST comes from a page of the board itself.
///
/// Browsers say it in `Sec-Fetch-Site`, which scripts cannot write. Without encryption they leave that out for other addresses than
/// this machine's, and send `Origin`, which has to name the host that was called.
pub(crate) fn is_ours(fetch_site: Option<&str>, origin: Option<&str>, host: &str) -> bool {
    match (fetch_site, origin) {
        (Some(site), None) => site == "same-origin",
        (Some(site), Some(origin)) => site == "same-origin" && names(origin, host),
        (None, Some(origin)) => names(origin, host),
        (None, None) => false,
    }
}

fn names(origin: &str, host: &str) -> bool {
    let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    place.is_some_and(|place| place.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    const HOST: &str = "127.0.0.1:8081";

    /// Guard: `Origin` is compared although `Sec-Fetch-Site` is the same origin | `is_ours`: only
    /// `Sec-Fetch-Site`
    #[test]
    fn only_what_a_browser_calls_the_same_origin_is_ours() {
        let ours = Some("http://127.0.0.1:8081");
        assert!(is_ours(Some("same-origin"), ours, HOST) && is_ours(Some("same-origin"), None, HOST));
        assert!(is_ours(None, ours, HOST) && is_ours(None, Some("https://127.0.0.1:8081"), HOST));
        for site in ["cross-site", "same-site", "none", ""] {
            assert!(!is_ours(Some(site), ours, HOST), "{site}");
        }
        let foreign = [
            "null",
            "",
            "http://evil.example",
            "http://127.0.0.1",
            "http://127.0.0.1:8081.evil.example",
            HOST,
        ];
        for origin in foreign {
            assert!(!is_ours(None, Some(origin), HOST), "{origin}");
            assert!(!is_ours(Some("same-origin"), Some(origin), HOST), "{origin}");
        }
        assert!(!is_ours(None, None, HOST));
    }
}
