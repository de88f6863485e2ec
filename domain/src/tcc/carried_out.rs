use serde::{Deserialize, Serialize};

use super::BranchName;
use crate::{Invalid, step::StepResult};

/// The branches of a global transaction that have carried out its decision, as its row keeps them.
///
/// They are not asked again: a branch that has ended is forgotten some day, however long another one is away.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CarriedOut(Vec<BranchName>);

impl CarriedOut {
    /// What a row keeps; none for a row that keeps nothing.
    pub fn read(result: Option<&StepResult>) -> Result<Self, Invalid> {
        let Some(result) = result else { return Ok(Self::default()) };
        serde_json::from_slice(result.as_bytes())
            .map_err(|e| Invalid::Malformed { what: "branches of a global transaction", why: e.to_string() })
    }

    /// As a row keeps it; refused if it is too long for one.
    pub fn result(&self) -> Result<StepResult, Invalid> {
        let text = serde_json::to_vec(self);
        let malformed = |e: serde_json::Error| Invalid::Malformed {
            what: "branches of a global transaction",
            why: e.to_string(),
        };
        StepResult::new(text.map_err(malformed)?)
    }

    /// Whether a branch is among them.
    pub fn has(&self, branch: &BranchName) -> bool {
        self.0.contains(branch)
    }

    /// Adds a branch.
    pub fn add(&mut self, branch: &BranchName) {
        if !self.has(branch) {
            self.0.push(branch.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_come_back_from_a_row() {
        let mut done = CarriedOut::default();
        assert_eq!(CarriedOut::read(None), Ok(done.clone()));
        let [stock, coupon] = ["stock", "coupon"].map(|name| BranchName::new(name).unwrap());
        done.add(&stock);
        done.add(&stock);
        let read = CarriedOut::read(Some(&done.result().unwrap())).unwrap();
        assert!(read == done && read.has(&stock) && !read.has(&coupon));
        assert!(CarriedOut::read(Some(&StepResult::new(*b"stock").unwrap())).is_err());
    }
}
