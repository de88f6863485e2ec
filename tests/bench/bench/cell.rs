use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    contender::Contender,
    record::{PeerNote, Record},
    scenario::Plan,
};

/// One contender under one set of conditions.
pub(crate) struct Cell {
    pub(crate) contender: Contender,
    pub(crate) plan: Plan,
    pub(crate) record: Record,
}

impl Cell {
    pub(crate) fn new(scenario: &str, contender: &Contender, instances: u64, plan: Plan) -> Self {
        let peer = contender.peer().map(|peer| PeerNote {
            version: peer.version.clone(),
            note: peer.note.clone(),
            leases: peer.leases(),
        });
        let record = Record {
            scenario: scenario.into(),
            contender: contender.name().into(),
            peer,
            instances,
            ..Record::default()
        };
        Self { contender: contender.clone(), plan, record }
    }

    /// Shows it under another name than the contender's.
    pub(crate) fn called(mut self, name: &str) -> Self {
        self.record.contender = name.into();
        self
    }

    pub(crate) fn with(mut self, parameter: &str, value: impl Into<Value>) -> Self {
        self.record.parameters.insert(parameter.into(), value.into());
        self
    }

    /// The cell in a few words.
    pub(crate) fn title(&self) -> String {
        format!("{}, {}", self.record.contender, conditions(self.record.instances, &self.record.parameters))
    }
}

/// Instances and parameters in a few words.
pub(crate) fn conditions(instances: u64, parameters: &BTreeMap<String, Value>) -> String {
    let said = parameters.iter().map(|(name, value)| match value {
        Value::String(word) => format!("{name} {word}"),
        other => format!("{name} {other}"),
    });
    let instances = (instances > 0).then(|| format!("instances {instances}"));
    instances.into_iter().chain(said).collect::<Vec<_>>().join(", ")
}
