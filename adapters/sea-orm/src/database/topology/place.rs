use std::collections::BTreeMap;

/// A member of a Group Replication group, as the asked server sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) member: String,
    pub(crate) state: String,
    pub(crate) role: String,
    pub(crate) is_self: bool,
}

/// Everything that a server says of its place among others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Place {
    pub(crate) settings: BTreeMap<String, String>,
    /// Empty where it was not asked for.
    pub(crate) status: BTreeMap<String, String>,
    /// Empty where the server is in no group, or its members may not be known.
    pub(crate) members: Vec<Member>,
}

impl Place {
    pub(crate) fn setting(&self, name: &str) -> &str {
        self.settings.get(name).map_or("", String::as_str)
    }

    pub(crate) fn status(&self, name: &str) -> &str {
        self.status.get(name).map_or("", String::as_str)
    }

    pub(crate) fn is_of_galera(&self) -> bool {
        is_on(self.setting("wsrep_on"))
    }

    /// The name of its group, if it has one.
    pub(crate) fn group(&self) -> Option<&str> {
        Some(self.setting("group_replication_group_name")).filter(|name| !name.is_empty())
    }

    /// Whether what it commits may be in the way of what another node has committed.
    pub(crate) fn certifies(&self) -> bool {
        self.is_of_galera() || self.group().is_some()
    }

    /// Whether it belongs to a group of which each member takes writes, and makes its changes of tables while the others' transactions run.
    pub(crate) fn is_of_many_primaries(&self) -> bool {
        self.group().is_some() && !is_on(self.setting("group_replication_single_primary_mode"))
    }

    /// Whether it is read only by any of its settings.
    pub(crate) fn is_read_only(&self) -> bool {
        self.refusing().is_some()
    }

    /// The setting by which it is read only, if there is one.
    pub(crate) fn refusing(&self) -> Option<&'static str> {
        let refusing = ["innodb_read_only", "super_read_only", "read_only", "offline_mode"];
        refusing.into_iter().find(|name| is_on(self.setting(name)))
    }

    pub(crate) fn is_semi_sync_source(&self) -> bool {
        ["rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"]
            .into_iter()
            .any(|name| is_on(self.setting(name)))
    }

    /// How many replicas confirm what is committed here.
    pub(crate) fn semi_sync_replicas(&self) -> u32 {
        let counts = ["Rpl_semi_sync_master_clients", "Rpl_semi_sync_source_clients"];
        counts.into_iter().filter_map(|name| self.status(name).parse::<u32>().ok()).sum()
    }

    /// How many replicas are connected, if the server says so.
    pub(crate) fn replicas(&self) -> Option<u32> {
        self.status("Slaves_connected").parse().ok()
    }
}

/// The server that a replica follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// Its address.
    pub(crate) server: String,
    /// `None` while nothing is replicated.
    pub(crate) seconds_behind: Option<String>,
}

impl Source {
    pub(crate) fn behind(&self) -> &str {
        self.seconds_behind.as_deref().unwrap_or("an unknown number of")
    }
}

/// MariaDB 12 has more words for being read only than ON.
pub(crate) fn is_on(value: &str) -> bool {
    !matches!(value, "" | "OFF" | "0")
}
