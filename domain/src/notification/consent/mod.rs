//! Who of a request's recipients is not to be notified, or not now: preferences, suppressed addresses, quiet hours, and the link that
//! takes a consent back.

mod address;
mod category;
mod decision;
mod mail_address;
mod phone_number;
mod preference_change;
mod preference_key;
mod preferences;
mod quiet_hours;
mod rules;
mod suppression;
mod time_zone;
mod unsubscribe;

pub use address::Address;
pub use category::Category;
pub use decision::{Asked, Consent, Refusal, consent};
pub use mail_address::{MailAddress, respelled};
pub use preference_change::PreferenceChange;
pub use preference_key::{address_key, address_named, named_preference_key, preference_key, spellings_named};
pub use preferences::{PreferenceRule, Preferences};
pub use quiet_hours::QuietHours;
pub use rules::{CategoryRules, ConsentRules};
pub use suppression::{SuppressedAddress, Suppression};
pub use time_zone::TimeZone;
pub use unsubscribe::{Unsubscribe, UnsubscribeKeys};
