use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::sqlx::{self, mysql::MySqlConnectOptions};

/// One server of a URL that names several. Clones share its login.
#[derive(Clone)]
pub(crate) struct Node {
    /// Its address, for people.
    pub(super) name: String,
    /// Its own URL; it may bear a password.
    pub(super) url: String,
    options: Arc<Mutex<MySqlConnectOptions>>,
}

impl Node {
    /// The server of a URL that names one.
    pub(super) fn of_url(url: String) -> Result<Self, sqlx::Error> {
        let options: MySqlConnectOptions = url.parse()?;
        let name = format!("{}:{}", options.get_host(), options.get_port());
        let options = Arc::new(Mutex::new(sqlx::ConnectOptions::disable_statement_logging(options)));
        Ok(Self { name, url, options })
    }

    /// How to connect to it.
    pub(super) fn options(&self) -> MySqlConnectOptions {
        self.options.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn use_password(&self, password: &str) {
        let mut options = self.options.lock().unwrap_or_else(PoisonError::into_inner);
        *options = options.clone().password(password);
    }
}

/// The addresses of some of these servers, for people.
pub(super) fn names(all: &[Node], which: impl IntoIterator<Item = usize>) -> String {
    let names: Vec<&str> =
        which.into_iter().filter_map(|at| all.get(at)).map(|node| node.name.as_str()).collect();
    names.join(", ")
}
