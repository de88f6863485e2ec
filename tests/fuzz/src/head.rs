/// The input of a target that takes named values and a body: lines `name: value`, an empty line, and the body.
pub(crate) struct Head<'a> {
    pub(crate) fields: Vec<(&'a [u8], &'a [u8])>,
    pub(crate) body: &'a [u8],
}

impl<'a> Head<'a> {
    pub(crate) fn of(data: &'a [u8]) -> Self {
        let (mut fields, mut rest) = (Vec::new(), data);
        while !rest.is_empty() {
            let (line, after) = split(rest, b'\n');
            rest = after;
            if line.is_empty() {
                break;
            }
            let (name, value) = split(line, b':');
            fields.push((name, value.strip_prefix(b" ").unwrap_or(value)));
        }
        Self { fields, body: rest }
    }

    /// The fields whose names and values are text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.fields.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)))
    }
}

/// What stands before the first separator, and what stands after it.
pub(crate) fn split(data: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == separator) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[]),
    }
}

/// The bytes as text, if they are.
pub(crate) fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Whether a URL has the password `hunter2` in its place and nowhere else, so that it may be shown nowhere.
#[cfg(any(feature = "brokers", feature = "configuration"))]
pub(crate) fn is_secret(url: &str) -> bool {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    url.matches("hunter2").count() == 1 && authority.is_some_and(|it| it.contains(":hunter2@"))
}
