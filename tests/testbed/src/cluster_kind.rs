/// A kind of cluster that the suite can be run on, and the variable that holds the URL of a node of one that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterKind {
    /// What `tests/clusters` calls it.
    pub name: &'static str,
    /// Where the URL of its first node stands.
    pub variable: &'static str,
    /// Which nodes take writes.
    pub writers: Writers,
    /// Whether what a node has answered is on all others that are left when it dies.
    pub keeps: Keeps,
}

/// Which nodes of a cluster take writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writers {
    /// Each.
    All,
    /// One at a time; another takes its place when it dies.
    One,
}

/// What is left of a commit that was answered when its node dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// All of it.
    EachCommit,
    /// What the replica has received: the last commits may be lost.
    WhatWasReceived,
}

/// The variable that lists the clusters that the suite is to be run on.
pub const CLUSTERS: &str = "CLAIMSTREAM_CLUSTERS";

impl ClusterKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::of("galera-10.11", "CLAIMSTREAM_GALERA_10_11_URL", Writers::All, Keeps::EachCommit),
        Self::of("replica-10.11", "CLAIMSTREAM_REPLICA_10_11_URL", Writers::One, Keeps::WhatWasReceived),
        Self::of("galera-11.8", "CLAIMSTREAM_GALERA_11_8_URL", Writers::All, Keeps::EachCommit),
        Self::of("group-9.7", "CLAIMSTREAM_GROUP_9_7_URL", Writers::One, Keeps::EachCommit),
        Self::of("group-multi-9.7", "CLAIMSTREAM_GROUP_MULTI_9_7_URL", Writers::All, Keeps::EachCommit),
        Self::of("replica-9.7", "CLAIMSTREAM_REPLICA_9_7_URL", Writers::One, Keeps::WhatWasReceived),
    ];

    const fn of(name: &'static str, variable: &'static str, writers: Writers, keeps: Keeps) -> Self {
        Self { name, variable, writers, keeps }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name == name)
    }

    /// Whether the environment asks for it.
    pub fn is_asked_for(self, environment: impl Fn(&str) -> Option<String>) -> bool {
        asked_for(environment).iter().any(|name| name == self.name)
    }

    /// The URL of a node of one that runs, if the environment has one.
    pub fn url(self, environment: impl Fn(&str) -> Option<String>) -> Option<String> {
        environment(self.variable).filter(|url| !url.is_empty())
    }

    /// Names that the environment asks for and that are unknown.
    pub fn unknown(environment: impl Fn(&str) -> Option<String>) -> Vec<String> {
        asked_for(environment).into_iter().filter(|name| Self::named(name).is_none()).collect()
    }
}

fn asked_for(environment: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let list = environment(CLUSTERS).unwrap_or_default();
    list.split([' ', ',', '\n', '\t']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_clusters_and_a_misspelt_one_is_found() {
        let environment = |name: &str| (name == CLUSTERS).then(|| "galera-10.11, galera-9".to_owned());
        let asked: Vec<_> =
            ClusterKind::ALL.into_iter().filter(|kind| kind.is_asked_for(environment)).collect();
        assert_eq!(asked, [ClusterKind::ALL[0]]);
        assert_eq!(ClusterKind::unknown(environment), ["galera-9"]);
    }
}
