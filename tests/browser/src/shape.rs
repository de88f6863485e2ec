/// A place without what differs among places of one kind: ids and numbers are `#`, and of what follows `?` there are the names, and
/// the value of `queue`.
pub(crate) fn shape(place: &str) -> String {
    let place = place.split('#').next().unwrap_or_default();
    let (path, query) = place.split_once('?').unwrap_or((place, ""));
    let part = |part: &str| if is_id(part) { "#".to_owned() } else { part.to_owned() };
    let path: Vec<_> = path.split('/').map(part).collect();
    let mut names: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(
            |pair| if pair.starts_with("queue=") { pair } else { pair.split('=').next().unwrap_or_default() },
        )
        .collect();
    names.sort_unstable();
    match names.is_empty() {
        true => path.join("/"),
        false => format!("{}?{}", path.join("/"), names.join("&")),
    }
}

fn is_id(part: &str) -> bool {
    let is_long = part.len() >= 16 && part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    is_long || !part.is_empty() && part.chars().all(|c| c.is_ascii_digit())
}
