use std::collections::BTreeMap;

use claimstream_domain::notification::{Channel, Template, TemplateText, TemplateVariable};
use serde::Deserialize;

use crate::problem::{Fault, Problem};

/// A template as a caller hands it in. Its channels are read apart, so that a fault below one has its whole place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TemplateBody {
    default_language: String,
    #[serde(default)]
    variables: Option<BTreeMap<String, TemplateVariable>>,
    texts: BTreeMap<String, BTreeMap<String, TemplateText>>,
}

impl TemplateBody {
    /// The template; refuses an unknown channel.
    pub(super) fn into_template(self) -> Result<Template, Problem> {
        let texts = self.texts.into_iter().map(|(name, texts)| {
            let unknown = || Fault::at(format!("/texts/{name}"), format!("there is no channel {name:?}"));
            let channel: Channel = name.parse().map_err(|_| Problem::invalid(unknown()))?;
            Ok((channel, texts))
        });
        let texts = texts.collect::<Result<_, _>>()?;
        Ok(Template { default_language: self.default_language, variables: self.variables, texts })
    }
}
