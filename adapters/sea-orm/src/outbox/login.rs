use std::sync::Weak;

use super::state::OutboxState;

/// The login of an outbox's connections. It does not keep the outbox open.
#[derive(Clone)]
pub struct Login(pub(super) Weak<OutboxState>);

impl Login {
    /// Has connections that are made from now on log in with this password, as after it was changed on the server. Open connections stay, and
    /// a pool that was handed in keeps its own password.
    pub fn use_password(&self, password: &str) {
        if let Some(state) = self.0.upgrade() {
            state.db.use_password(password);
        }
    }

    /// Whether the outbox is still there.
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("is_open", &self.is_open()).finish()
    }
}
