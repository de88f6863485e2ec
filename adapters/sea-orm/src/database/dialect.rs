use sea_orm::DbBackend;

/// Which family of statements a database understands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// MySQL and MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// The dialect of a database URL, or a sentence that names the URLs that would work.
    pub fn of_url(url: &str) -> Result<Self, String> {
        // Only what stands before the first colon is ever shown: the rest may hold a password.
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        match scheme {
            "mysql" if cfg!(feature = "mysql") => Ok(Self::MySql),
            "sqlite" if cfg!(feature = "sqlite") => Ok(Self::Sqlite),
            other => Err(format!(
                "a database URL that starts with {other:?} is not supported; use mysql://user@host/database \
                 (MySQL and MariaDB) or sqlite://file.db"
            )),
        }
    }

    /// The dialect of a connection, or a sentence that names those that would work.
    pub(crate) fn of_backend(backend: DbBackend) -> Result<Self, String> {
        match backend {
            DbBackend::MySql => Ok(Self::MySql),
            DbBackend::Sqlite => Ok(Self::Sqlite),
            other => Err(format!("a {other:?} connection is not supported; use MySQL, MariaDB or SQLite")),
        }
    }

    pub(crate) fn backend(self) -> DbBackend {
        match self {
            Self::MySql => DbBackend::MySql,
            Self::Sqlite => DbBackend::Sqlite,
        }
    }
}
