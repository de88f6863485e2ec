use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BranchName, GlobalId, Operation};
use crate::Invalid;

/// One branch of a global transaction: the participant and its argument.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Branch {
    /// Its name within the transaction.
    pub name: BranchName,
    /// The participant that carries it out, by the name under which the coordinator knows it.
    pub participant: String,
    /// The resource to reserve; the same for all three operations.
    pub payload: Value,
}

impl Branch {
    /// A branch of `participant`, under whose name it goes in the transaction; refused if that is no name.
    pub fn new(participant: &str, payload: Value) -> Result<Self, Invalid> {
        Ok(Self { name: BranchName::new(participant)?, participant: participant.into(), payload })
    }

    /// Gives it a name of its own, for a transaction in which one participant has several branches.
    pub fn named(mut self, name: BranchName) -> Self {
        self.name = name;
        self
    }
}

/// What a participant is asked to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchCall {
    /// The identity of the call: transaction, branch and operation.
    pub key: BranchCallKey,
    /// What it is about.
    pub payload: Value,
}

impl BranchCall {
    /// The call that asks `operation` of a branch of `gid`.
    pub fn new(gid: &GlobalId, branch: &Branch, operation: Operation) -> Self {
        let key = BranchCallKey { gid: gid.clone(), branch: branch.name.clone(), operation };
        Self { key, payload: branch.payload.clone() }
    }
}

/// The idempotency key of a call, the same however often the call is made: `gid/branch/operation`, as in
/// `order-7/stock/try`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BranchCallKey {
    /// The global transaction.
    pub gid: GlobalId,
    /// The branch.
    pub branch: BranchName,
    /// The operation.
    pub operation: Operation,
}

impl fmt::Display for BranchCallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.gid, self.branch, self.operation)
    }
}

impl FromStr for BranchCallKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let malformed = || Invalid::Malformed {
            what: "idempotency key",
            why: "expected gid/branch/operation with try, confirm or cancel for the operation".into(),
        };
        let mut parts = text.split('/');
        let (Some(gid), Some(branch), Some(operation), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        let operation = Operation::ALL.into_iter().find(|known| known.name() == operation);
        Ok(Self { gid: gid.parse()?, branch: branch.parse()?, operation: operation.ok_or_else(malformed)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_is_written_and_read_back() {
        for operation in Operation::ALL {
            let key = BranchCallKey {
                gid: GlobalId::new("order-7").unwrap(),
                branch: BranchName::new("stock").unwrap(),
                operation,
            };
            assert_eq!(key.to_string(), format!("order-7/stock/{operation}"));
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for bad in ["", "a/b", "a/b/c", "a//try", "/b/try", "a/b/try/", "a/b/Try"] {
            assert!(bad.parse::<BranchCallKey>().is_err(), "{bad:?}");
        }
    }
}
