use super::super::Channel;

/// Why a request cannot use a template.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TemplateFault {
    /// No such template has been published.
    #[error("there is no template {id:?}")]
    Unknown {
        /// The template's id.
        id: String,
    },
    /// It says nothing on any channel of the request.
    #[error("the template {id:?} has no text for {}", .channels.iter().map(|channel| channel.name()).collect::<Vec<_>>().join(", "))]
    NoText {
        /// The template's id.
        id: String,
        /// The channels of the request.
        channels: Vec<Channel>,
    },
    /// Parameters that it does not know.
    #[error("the template {id:?} has no variable {}", quoted(names))]
    Surplus {
        /// The template's id.
        id: String,
        /// The parameters.
        names: Vec<String>,
    },
    /// Variables that have no value and no default.
    #[error("the template {id:?} needs a value for {}", quoted(names))]
    Missing {
        /// The template's id.
        id: String,
        /// The variables.
        names: Vec<String>,
    },
    /// It has a fault of its own, so that no request can use it.
    #[error("the template {id:?} cannot be used: {why}")]
    Unusable {
        /// The template's id.
        id: String,
        /// The fault.
        why: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
