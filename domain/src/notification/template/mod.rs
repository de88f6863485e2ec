//! Templates: what they say on which channel and in which language, and who may call them with which parameters.

mod call;
mod definition;
mod fault;
mod identifier;
mod language;
mod statements;
mod version;

pub use call::TemplateCall;
pub use definition::{Template, TemplateText, TemplateVariable};
pub use fault::TemplateFault;
pub use statements::TemplatePart;
pub use version::TemplateVersion;
