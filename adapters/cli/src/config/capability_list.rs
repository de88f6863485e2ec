use std::collections::BTreeSet;

use claimstream_sea_orm::Capability;

use super::setting::{ConfigValue, quoted};

/// What a database is used for besides the outbox.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CapabilityList(pub BTreeSet<Capability>);

impl CapabilityList {
    /// Reads names between commas.
    pub(crate) fn of_names(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let read = names.map(|name| Capability::of_name(name).ok_or_else(|| unknown(name)));
        read.collect::<Result<_, _>>().map(Self)
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<_> = Capability::ALL.iter().map(|capability| capability.name()).collect();
    format!("{name:?} is not one of {}", known.join(", "))
}

impl ConfigValue for CapabilityList {
    fn read(text: &str) -> Result<Self, String> {
        Self::of_names(text)
    }

    fn write(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|capability| capability.name()).collect();
        quoted(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_between_commas() {
        let list = CapabilityList::of_names("steps,notifications , ").unwrap();
        assert_eq!(list.write(), "\"steps, notifications\"");
        assert_eq!(CapabilityList::of_names("").unwrap(), CapabilityList::default());
        let refused = CapabilityList::of_names("step").unwrap_err();
        assert_eq!(refused, "\"step\" is not one of outbox, shard_lease, steps, notifications");
    }
}
