use sea_orm::{ConnectionTrait, Database, DbErr};

/// A database of the test on a server of the environment, which is dropped with this value; no other is touched.
pub struct ScratchDatabase {
    server: String,
    name: String,
}

impl ScratchDatabase {
    /// Makes a database next to the one that the URL names; fails without the right to make one.
    pub async fn create(server: &str, name: &str) -> Result<Self, DbErr> {
        execute(server, &format!("CREATE DATABASE {name}")).await?;
        Ok(Self { server: server.to_owned(), name: name.to_owned() })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        with_database(&self.server, &self.name)
    }
}

impl Drop for ScratchDatabase {
    /// On a thread of its own, because it may happen inside or outside a runtime.
    fn drop(&mut self) {
        let (server, sql) = (self.server.clone(), format!("DROP DATABASE IF EXISTS {}", self.name));
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            // A transaction that a failed test has left open locks its tables.
            let sql = format!("SET SESSION lock_wait_timeout = 20; {sql}");
            runtime.block_on(execute(&server, &sql)).map_err(std::io::Error::other)
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("the database {} is left behind: {error}", self.name);
        }
    }
}

async fn execute(url: &str, sql: &str) -> Result<(), DbErr> {
    let db = Database::connect(url).await?;
    db.execute_unprepared(sql).await?;
    db.close().await
}

/// The URL with another database's name.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = url.split_once('?').map_or((url, None), |(a, p)| (a, Some(p)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("mysql", address));
    let server = rest.split_once('/').map_or(rest, |(server, _)| server);
    match parameters {
        Some(parameters) => format!("{scheme}://{server}/{name}?{parameters}"),
        None => format!("{scheme}://{server}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_keeps_its_parameters() {
        assert_eq!(
            with_database("mysql://r@h:1/x?ssl-mode=disabled", "y"),
            "mysql://r@h:1/y?ssl-mode=disabled"
        );
        assert_eq!(with_database("mysql://r@h:1/x", "y"), "mysql://r@h:1/y");
    }

    #[test]
    fn a_url_that_names_no_database_names_one_afterwards() {
        assert_eq!(with_database("mysql://r@h:1", "y"), "mysql://r@h:1/y");
    }
}
