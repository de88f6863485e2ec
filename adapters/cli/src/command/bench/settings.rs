use std::collections::BTreeMap;

/// A setting of the server that decides what was measured, and what its value means.
pub(super) struct SettingSaid {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) means: &'static str,
}

/// The settings that decide how fast commits are, by what the server says; on SQLite those that an outbox makes.
pub(super) fn of(variables: &BTreeMap<String, String>) -> Vec<SettingSaid> {
    if variables.is_empty() {
        return vec![
            SettingSaid {
                name: "journal_mode",
                value: "WAL".into(),
                means: "readers and the one writer do not wait for each other",
            },
            SettingSaid {
                name: "synchronous",
                value: "FULL".into(),
                means: "each commit waits for the disk",
            },
        ];
    }
    let said = |(name, means): &(&'static str, Explain)| {
        let value = variables.get(*name)?.clone();
        let means = means(&value);
        Some(SettingSaid { name, value, means })
    };
    let has_log = variables.get("log_bin").is_none_or(|value| value != "OFF");
    KNOWN.iter().filter_map(said).filter(|one| has_log || one.name != "sync_binlog").collect()
}

/// What a value means for those who read the figures.
type Explain = fn(&str) -> &'static str;

const KNOWN: [(&str, Explain); 4] = [
    ("innodb_flush_log_at_trx_commit", |value| match value {
        "1" => "each commit waits for the disk, and none is lost",
        "2" => "commits are flushed once a second; a crash of the machine loses the last ones",
        _ => "commits are written once a second; a crash of the server loses the last ones",
    }),
    ("sync_binlog", |value| match value {
        "1" => "each commit waits until the binary log is on the disk, if there is one",
        "0" => "the system flushes the binary log when it likes; a crash of the machine may lose its end",
        _ => "the binary log is flushed after so many commits; a crash of the machine may lose its end",
    }),
    ("log_bin", |value| match value {
        "OFF" => "there is no binary log, so replicas do not see the bench",
        _ => "what a bench writes goes to every replica too",
    }),
    ("wsrep_on", |value| match value {
        "ON" => "each commit asks the other nodes of the cluster",
        _ => "there is no cluster to ask",
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_said_as_the_server_has_it() {
        let variables = [
            ("innodb_flush_log_at_trx_commit", "2"),
            ("sync_binlog", "1"),
            ("log_bin", "OFF"),
            ("version", "9.7.0"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let said = of(&variables);
        let names: Vec<_> = said.iter().map(|one| (one.name, one.value.as_str())).collect();
        assert_eq!(names, [("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "OFF")]);
        assert!(said[0].means.contains("loses the last ones"));
        assert_eq!(of(&BTreeMap::new())[1].name, "synchronous");
    }
}
