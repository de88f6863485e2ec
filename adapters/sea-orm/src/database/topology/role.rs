use super::place::{Place, is_on};

/// Whether a server takes writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It does. Servers with the same home have the same data: a cluster, or one server under two addresses.
    Writes(Home),
    /// It does not, in the words of its settings.
    Refuses(String),
}

/// What data a server has, as far as it says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Home(String);

impl Place {
    /// The one place that says whether a server takes writes.
    ///
    /// An unknown setting is none that refuses: a server that does refuse says so with the first write.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no role"))]
    pub(crate) fn role(&self) -> Role {
        if let Some(name) = self.refusing() {
            return Role::Refuses(format!("{name} = {}", self.setting(name)));
        }
        if self.is_of_galera() {
            return self.role_in_galera();
        }
        match self.group() {
            Some(name) => self.role_in_group(name),
            None => Role::Writes(self.own_home()),
        }
    }

    fn role_in_galera(&self) -> Role {
        let rejects = self.setting("wsrep_reject_queries");
        if !matches!(rejects, "" | "NONE") {
            return Role::Refuses(format!("wsrep_reject_queries = {rejects}"));
        }
        // A donor of a state transfer takes writes as well.
        let is_in_step = matches!(self.status("wsrep_local_state"), "2" | "4");
        if is_on(self.status("wsrep_ready")) && self.status("wsrep_cluster_status") == "Primary" && is_in_step
        {
            return Role::Writes(Home(format!("galera {}", self.status("wsrep_cluster_state_uuid"))));
        }
        Role::Refuses(format!(
            "wsrep_ready = {}, wsrep_cluster_status = {}, wsrep_local_state_comment = {}",
            self.status("wsrep_ready"),
            self.status("wsrep_cluster_status"),
            self.status("wsrep_local_state_comment")
        ))
    }

    /// Where the members may not be known, what the settings say has to do: a secondary is read only.
    fn role_in_group(&self, name: &str) -> Role {
        let home = Home(format!("group {name}"));
        let Some(own) = self.members.iter().find(|member| member.is_self) else { return Role::Writes(home) };
        if own.state != "ONLINE" {
            return Role::Refuses(format!("this member of the group is {}", own.state));
        }
        let reached = self.members.iter().filter(|member| member.state != "UNREACHABLE").count();
        match reached * 2 > self.members.len() {
            true => Role::Writes(home),
            false => Role::Refuses("this member of the group reaches no majority of it".into()),
        }
    }

    fn own_home(&self) -> Home {
        let known = ["server_uuid", "hostname", "port", "server_id"].map(|name| self.setting(name));
        Home(format!("server {}", known.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::topology::place::Member;

    fn place(settings: &[(&str, &str)], status: &[(&str, &str)]) -> Place {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Place { settings: map(settings), status: map(status), members: Vec::new() }
    }

    fn writes(place: &Place) -> bool {
        matches!(place.role(), Role::Writes(_))
    }

    #[test]
    fn a_server_that_is_read_only_in_any_way_does_not_write() {
        assert!(writes(&place(&[("read_only", "OFF"), ("server_id", "1")], &[])));
        for name in ["read_only", "super_read_only", "innodb_read_only", "offline_mode"] {
            for value in ["ON", "1", "NO_LOCK_NO_ADMIN"] {
                assert!(!writes(&place(&[(name, value)], &[])), "{name} = {value}");
            }
        }
    }

    #[test]
    fn a_node_of_galera_writes_once_it_is_ready_and_in_a_majority() {
        let node = |ready, status, state| {
            let said =
                [("wsrep_ready", ready), ("wsrep_cluster_status", status), ("wsrep_local_state", state)];
            writes(&place(&[("wsrep_on", "ON")], &said))
        };
        assert!(node("ON", "Primary", "4") && node("ON", "Primary", "2"));
        assert!(!node("OFF", "Primary", "4") && !node("ON", "non-Primary", "4"));
        assert!(!node("ON", "Primary", "1") && !node("ON", "Primary", "3") && !node("ON", "Primary", ""));
        assert!(!writes(&place(&[("wsrep_on", "ON"), ("wsrep_reject_queries", "ALL")], &[])));
    }

    #[test]
    fn a_member_of_a_group_writes_where_it_is_online_and_reaches_the_majority() {
        let member = |state: &str, is_self| Member {
            member: "db:3306".into(),
            state: state.into(),
            role: "PRIMARY".into(),
            is_self,
        };
        let group = |states: &[&str]| {
            let members = states.iter().enumerate().map(|(at, state)| member(state, at == 0)).collect();
            writes(&Place { members, ..place(&[("group_replication_group_name", "g")], &[]) })
        };
        assert!(group(&["ONLINE", "ONLINE", "UNREACHABLE"]) && group(&["ONLINE"]) && group(&[]));
        assert!(!group(&["RECOVERING", "ONLINE", "ONLINE"]));
        assert!(!group(&["ONLINE", "UNREACHABLE", "UNREACHABLE"]) && !group(&["ONLINE", "UNREACHABLE"]));
    }

    #[test]
    fn servers_share_a_home_only_where_they_share_data() {
        let alone = |id| place(&[("server_id", id), ("hostname", "a")], &[]).role();
        assert!(alone("1") != alone("2") && alone("1") == alone("1"));
        let ready = [("wsrep_ready", "ON"), ("wsrep_cluster_status", "Primary"), ("wsrep_local_state", "4")];
        let node = |id| place(&[("wsrep_on", "ON"), ("server_id", id)], &ready).role();
        assert_eq!(node("1"), node("2"));
    }
}
