use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Who a notification on one channel comes from, in place of the sender that its provider was set up with.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sender {
    /// An address of the channel: a mail address, a phone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What the recipient sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Sender {
    /// Refuses a sender without an address and a name, and any part that is empty, too long or has control characters.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.address.is_none() && self.name.is_none() {
            return Err(Invalid::Empty { what: "sender (address and name)" });
        }
        for (what, part, most) in [("sender address", &self.address, 320), ("sender name", &self.name, 255)] {
            let Some(text) = part else { continue };
            Invalid::unless_length(what, text, most)?;
            if let Some(found) = text.chars().find(|c| c.is_control()) {
                return Err(Invalid::Character { what, found, allowed: "use printable characters" });
            }
        }
        Ok(())
    }
}
