use form_urlencoded::Serializer;

/// The address of a page of the board: under the path that the router is mounted at, values escaped.
pub(crate) fn place(base: &str, path: &str, values: &[(&str, &str)]) -> String {
    let path = if path == "/" && !base.is_empty() { "" } else { path };
    if values.is_empty() {
        return format!("{base}{path}");
    }
    let query = Serializer::new(String::new()).extend_pairs(values).finish();
    format!("{base}{path}?{query}")
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn values_are_escaped_and_the_path_of_the_mount_comes_first() {
        assert_eq!(place("", "/", &[]), "/");
        assert_eq!(place("/board", "/", &[]), "/board");
        assert_eq!(
            place("/board", "/dead", &[("queue", "a&b=c/\"<")]),
            "/board/dead?queue=a%26b%3Dc%2F%22%3C"
        );
    }
}
