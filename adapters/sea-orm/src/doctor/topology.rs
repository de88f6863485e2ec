use crate::{
    database::topology::{
        place::{Member, Place, Source},
        read::whole_place,
    },
    doctor::{
        examination::Examination,
        finding::{Finding, either, good, warning},
    },
};

const CHECK: &str = "cluster";

/// A node that holds writes up for more of its time than this is too slow for what is written.
const FLOW_CONTROL: f64 = 0.1;

impl Examination<'_> {
    /// Whether the server belongs to a cluster or has replicas, and what that means for the outbox.
    pub(super) async fn examine_topology(&self) -> Vec<Finding> {
        match whole_place(self.db.relay(), self.db.sql).await {
            Ok((place, source)) => findings(&place, source.as_ref()),
            Err(error) => vec![warning(CHECK, format!("not looked at: {error}"))],
        }
    }
}

/// What a server's place among others means.
fn findings(place: &Place, source: Option<&Source>) -> Vec<Finding> {
    if place.is_of_galera() {
        return of_galera(place);
    }
    match place.group() {
        Some(_) => of_group(place),
        None => vec![of_replication(place, source)],
    }
}

fn of_galera(place: &Place) -> Vec<Finding> {
    let status = |name| place.status(name);
    let size = status("wsrep_cluster_size");
    let detail = format!(
        "Galera, {size} nodes, this one {} in a part that is {}; relays may run on any node: where two hand out the same message, one \
         meets a conflict at its commit and begins again, and a node that dies takes no commit along. Locks of rows are local to a \
         node, so relays on one node meet fewer conflicts",
        status("wsrep_local_state_comment"),
        status("wsrep_cluster_status"),
    );
    let mut found = vec![good(CHECK, detail)];
    if size.parse::<u32>().is_ok_and(|size| size < 3) {
        found.push(warning(
            CHECK,
            format!("Galera with {size} nodes: if one dies, the rest may have no majority and takes no statements; add a third node, or garbd"),
        ));
    }
    if status("wsrep_local_state") != "4" {
        found.push(warning(
            CHECK,
            format!(
                "this node of Galera is {}: it may be slow or behind; connect to one that is Synced, or give several addresses in the \
                 database URL",
                status("wsrep_local_state_comment")
            ),
        ));
    }
    let paused = status("wsrep_flow_control_paused").parse::<f64>().unwrap_or_default();
    if paused > FLOW_CONTROL {
        found.push(warning(
            CHECK,
            format!(
                "flow control held writes up for {:.0} % of the time: a node is too slow for what is written, and leases may run out; look \
                 which node has a long wsrep_local_recv_queue",
                paused * 100.0
            ),
        ));
    }
    found
}

fn of_group(place: &Place) -> Vec<Finding> {
    let is_single = place.setting("group_replication_single_primary_mode") != "OFF";
    let consistency = place.setting("group_replication_consistency");
    let means = match is_single {
        true => {
            "one member takes writes; if it dies another takes its place and no commit is lost. Name all members in the database URL, and \
             the outbox follows"
        }
        false => {
            "relays may run on any member: where two hand out the same message, one meets a conflict at its commit and begins again"
        }
    };
    let mode = if is_single { "single-primary" } else { "multi-primary" };
    let Some(own) = place.members.iter().find(|member| member.is_self) else {
        let detail = format!(
            "Group Replication, {mode}, consistency {consistency}; {means}. Its members were not looked at: grant SELECT on \
             performance_schema.replication_group_members to see them"
        );
        return vec![good(CHECK, detail)];
    };
    let online = place.members.iter().filter(|member| member.state == "ONLINE").count();
    let all = place.members.len();
    let detail = format!(
        "Group Replication, {mode}, {online} of {all} members online, this one {} and {}, consistency {consistency}; {means}",
        own.role, own.state
    );
    let mut found = vec![good(CHECK, detail)];
    let away: Vec<String> =
        place.members.iter().filter(|member| member.state != "ONLINE").map(says).collect();
    if !away.is_empty() {
        found.push(warning(CHECK, format!("members of the group that are not online: {}", away.join(", "))));
    }
    if all < 3 {
        let detail = format!("a group of {all} has no majority if one member dies; have three or more");
        found.push(warning(CHECK, detail));
    }
    found
}

fn says(member: &Member) -> String {
    format!("{} is {}", member.member, member.state)
}

fn of_replication(place: &Place, source: Option<&Source>) -> Finding {
    if let Some(source) = source {
        let detail = format!(
            "this server follows {} and takes writes itself: what is enqueued here is not there, and may stop its replication; set \
             read_only = ON, or RESET REPLICA ALL if it was promoted",
            source.server
        );
        let follows = format!("a replica of {}, {} s behind", source.server, source.behind());
        return either(place.is_read_only(), good(CHECK, follows), warning(CHECK, detail));
    }
    let is_semi_sync = place.is_semi_sync_source();
    let confirming = place.semi_sync_replicas();
    match (is_semi_sync, confirming, place.replicas()) {
        (true, 0, _) => warning(
            CHECK,
            "semi-synchronous, and no replica confirms: a commit waits for the time that rpl_semi_sync_*_timeout says and then continues \
             alone, so a failover may lose the last commits; docs/failover.md",
        ),
        (true, replicas, _) => good(
            CHECK,
            format!(
                "semi-synchronous, {replicas} replicas confirm: a commit is answered once a replica has it, so a failover to that replica \
                 loses nothing that was answered; docs/failover.md"
            ),
        ),
        (false, _, Some(replicas @ 1..)) => good(
            CHECK,
            format!(
                "{replicas} asynchronous replicas: a failover may lose the last commits. The outbox then handles again what was in flight; \
                 afterwards run claimstream doctor --after-failover; docs/failover.md"
            ),
        ),
        (false, ..) => good(CHECK, "a server by itself, as far as it says: no Galera, no Group Replication"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    fn place(settings: &[(&str, &str)], status: &[(&str, &str)]) -> Place {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Place { settings: map(settings), status: map(status), members: Vec::new() }
    }

    fn warned(found: &[Finding]) -> String {
        let warnings = found.iter().filter(|finding| finding.severity == Severity::Warning);
        warnings.map(|finding| finding.detail.as_str()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_server_by_itself_is_good() {
        let found = findings(&place(&[("read_only", "OFF")], &[]), None);
        assert!(warned(&found).is_empty() && found[0].detail.contains("by itself"), "{found:?}");
    }

    #[test]
    fn galera_says_how_its_nodes_fare() {
        let galera = |size, state, paused| {
            let status = [
                ("wsrep_cluster_size", size),
                ("wsrep_local_state", state),
                ("wsrep_flow_control_paused", paused),
            ];
            warned(&findings(&place(&[("wsrep_on", "ON")], &status), None))
        };
        assert_eq!(galera("3", "4", "0.01"), "");
        assert!(galera("2", "4", "0").contains("third node"));
        assert!(galera("3", "2", "0").contains("Synced"));
        assert!(galera("3", "4", "0.5").contains("50 %"));
    }

    #[test]
    fn a_group_names_members_that_are_away() {
        let member = |n: usize, state: &str| Member {
            member: format!("db{n}:3306"),
            state: state.into(),
            role: "PRIMARY".into(),
            is_self: n == 0,
        };
        let group = |states: &[&str]| {
            let members = states.iter().enumerate().map(|(n, state)| member(n, state)).collect();
            findings(&Place { members, ..place(&[("group_replication_group_name", "g")], &[]) }, None)
        };
        assert!(warned(&group(&["ONLINE"; 3])).is_empty());
        assert!(warned(&group(&["ONLINE", "ONLINE", "UNREACHABLE"])).contains("db2:3306 is UNREACHABLE"));
        assert!(warned(&group(&["ONLINE", "ONLINE"])).contains("three or more"));
        assert!(group(&[])[0].detail.contains("grant SELECT"));
    }

    #[test]
    fn replication_says_what_a_failover_may_lose() {
        let source = Source { server: "db1:3306".into(), seconds_behind: Some("3".into()) };
        let follows = |read_only| findings(&place(&[("read_only", read_only)], &[]), Some(&source));
        assert!(warned(&follows("OFF")).contains("follows db1:3306") && warned(&follows("ON")).is_empty());
        let semi = |clients| {
            let on = [("rpl_semi_sync_master_enabled", "ON")];
            findings(&place(&on, &[("Rpl_semi_sync_master_clients", clients)]), None)
        };
        assert!(warned(&semi("0")).contains("no replica confirms") && warned(&semi("1")).is_empty());
        let asynchronous = findings(&place(&[], &[("Slaves_connected", "2")]), None);
        assert!(asynchronous[0].detail.contains("2 asynchronous replicas"), "{asynchronous:?}");
    }
}
