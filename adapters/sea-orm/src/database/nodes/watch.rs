use std::time::Duration;

use sea_orm::{DatabaseConnection, sqlx::MySqlConnection};
use tokio::{runtime::Handle, task::AbortHandle};

use super::{ask::ask_again, choice::Answer, known::Nodes, node::names, search::Search};
use crate::database::{outage::Outage, topology::role::Role};

/// A task that asks the server that is written to whether it still takes writes, once a second and when something is amiss, and
/// leads the pools to another one if it does not. It ends with the outbox.
pub(crate) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watch {
    const BEAT: Duration = Duration::from_secs(1);

    /// Watches for these pools of the outbox's own.
    pub(crate) fn begin(
        nodes: Nodes,
        pools: [DatabaseConnection; 2],
        outage: Outage,
        runtime: &Handle,
    ) -> Self {
        let watched = Watched { nodes, pools, outage, line: None };
        Self(runtime.spawn(Box::pin(watched.run())).abort_handle())
    }
}

struct Watched {
    nodes: Nodes,
    pools: [DatabaseConnection; 2],
    outage: Outage,
    /// To the server that is written to.
    line: Option<MySqlConnection>,
}

impl Watched {
    async fn run(mut self) {
        loop {
            let _ = self.nodes.timer().timeout(Watch::BEAT, self.nodes.doubted()).await;
            let current = self.nodes.writer();
            let Some(node) = self.nodes.all().get(current) else { return };
            if self.nodes.was_elsewhere() {
                self.line = None;
            }
            let said = ask_again(self.nodes.timer(), &mut self.line, &node.options()).await;
            if let Answer::Says(Role::Writes(home)) = &said {
                if self.nodes.has_moved_in(home) {
                    tracing::warn!(
                        server = node.name,
                        "another server is behind this address, and takes writes"
                    );
                    self.outage.note();
                }
                continue;
            }
            self.line = None;
            let (moves, timer) = (self.nodes.moves(), self.nodes.timer());
            let mut search = Search::after(self.nodes.all(), &moves, timer, current, said.clone());
            match search.may_leave() {
                true => tracing::warn!(
                    server = node.name,
                    ?said,
                    "the server does not take writes; looking for one that does"
                ),
                false => tracing::warn!(
                    server = node.name,
                    ?said,
                    "the server did not answer; it is asked once more"
                ),
            }
            let found = search.found().await;
            if found != current {
                self.lead_to(current, found);
            }
            self.nodes.announce(found, search.home(found));
        }
    }

    /// Connections that are opened from now on lead there, and those that were opened before are not used any more. Idle ones are dropped
    /// here: the pool would take leave of each when a call asks for one, and wait for a server that may say nothing.
    fn lead_to(&self, from: usize, to: usize) {
        let Some(node) = self.nodes.all().get(to) else { return };
        let changing = self.nodes.changing_pools();
        for pool in &self.pools {
            let pool = pool.get_mysql_connection_pool();
            let (options, node) = ((*pool.connect_options()).clone(), node.options());
            pool.set_connect_options(options.host(node.get_host()).port(node.get_port()));
        }
        drop(changing);
        self.outage.note();
        for pool in &self.pools {
            while let Some(idle) = pool.get_mysql_connection_pool().try_acquire() {
                drop(idle.detach());
            }
        }
        let (from, to) = (names(self.nodes.all(), [from]), names(self.nodes.all(), [to]));
        tracing::warn!(from, to, "another server takes writes; new connections lead there");
    }
}
