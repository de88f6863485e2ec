use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use sea_orm::sqlx::{MySql, MySqlConnection, pool::PoolConnection};
use tokio::runtime::Handle;

use super::store_timer::StoreTimer;

/// A connection of a pool that returns there in time when it is dropped, whatever it was used for last.
///
/// The pool rolls back what is open on it and sends a ping, and sqlx would wait for the answer as long as the system sends the ping again,
/// which is a quarter of an hour where the link was cut. So a return is given up in time: that closes the connection and makes room in the
/// pool.
pub(crate) struct Lent {
    connection: PoolConnection<MySql>,
    returns: Returns,
    runtime: Handle,
    timer: StoreTimer,
}

#[derive(Clone, Copy)]
enum Returns {
    /// The pool rolls it back first.
    Anyhow,
    /// The pool need not roll it back.
    Clean,
    /// It is closed.
    Never,
}

impl Lent {
    /// How long the pool's ping may take, as long as its rollback.
    const WITHIN: Duration = Duration::from_millis(500);

    /// It returns by a task of the runtime in which this is called.
    pub(crate) fn of(connection: PoolConnection<MySql>, timer: StoreTimer) -> Self {
        Self { connection, returns: Returns::Anyhow, runtime: Handle::current(), timer }
    }

    /// Returns it to the pool. All its statements were answered well, it is in no transaction, and it commits by itself.
    pub(crate) fn return_clean(mut self) {
        self.returns = Returns::Clean;
    }

    /// Does not go back to the pool, which opens another one instead.
    pub(crate) fn close_when_dropped(&mut self) {
        self.connection.close_on_drop();
        self.returns = Returns::Never;
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let (returns, _entered) = (self.returns, self.runtime.enter());
        let returning = match returns {
            // Its own drop closes it.
            Returns::Never => return,
            Returns::Anyhow | Returns::Clean => self.connection.return_to_pool(),
        };
        let timer = self.timer.clone();
        tokio::spawn(async move {
            match returns {
                Returns::Clean => timer.timeout(Self::WITHIN, CLEAN.scope((), returning)).await,
                _ => timer.timeout(2 * Self::WITHIN, returning).await,
            }
        });
    }
}

impl Deref for Lent {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.connection
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.connection
    }
}

/// Whether the connection that the pool asks about comes back clean.
pub(crate) fn is_clean() -> bool {
    CLEAN.try_with(|()| ()).is_ok()
}

tokio::task_local! {
    /// There while a connection is returned that is known to be clean.
    static CLEAN: ();
}
