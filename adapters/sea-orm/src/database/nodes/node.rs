use sea_orm::sqlx::mysql::MySqlConnectOptions;

/// One server of a URL that names several.
pub(crate) struct Node {
    /// Its address, for people.
    pub(super) name: String,
    /// Its own URL; it may bear a password.
    pub(super) url: String,
    pub(super) options: MySqlConnectOptions,
}

/// The addresses of some of these servers, for people.
pub(super) fn names(all: &[Node], which: impl IntoIterator<Item = usize>) -> String {
    let names: Vec<&str> =
        which.into_iter().filter_map(|at| all.get(at)).map(|node| node.name.as_str()).collect();
    names.join(", ")
}
