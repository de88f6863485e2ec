use sqlx::{Connection, MySqlConnection};

use crate::Failure;

/// The database that everybody works on.
pub(crate) struct Server {
    url: String,
}

impl Server {
    /// Without TLS unless the URL says otherwise: some peers compile it in and would use it where the others do not.
    pub(crate) fn new(url: &str) -> Self {
        let said = url.contains("ssl-mode=") || url.contains("sslmode=");
        let separator = if url.contains('?') { '&' } else { '?' };
        Self { url: if said { url.to_owned() } else { format!("{url}{separator}ssl-mode=disabled") } }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements, one after another on one connection.
    pub(crate) async fn run(&self, sql: &'static str) -> Result<(), Failure> {
        let mut connection = MySqlConnection::connect(&self.url).await?;
        sqlx::raw_sql(sql).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    /// Asks the same question again and again.
    pub(crate) async fn probe(&self, sql: &'static str) -> Result<Probe, Failure> {
        Ok(Probe { connection: MySqlConnection::connect(&self.url).await?, sql })
    }
}

/// A question with a connection of its own.
pub(crate) struct Probe {
    connection: MySqlConnection,
    sql: &'static str,
}

impl Probe {
    /// Whether the query has a row now.
    pub(crate) async fn finds(&mut self) -> Result<bool, Failure> {
        let row = sqlx::query(self.sql).fetch_optional(&mut self.connection).await?;
        Ok(row.is_some())
    }
}
