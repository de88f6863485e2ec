use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Template, TemplateVariable};
use crate::Invalid;

/// A version of a template that is sent, with copies of the templates that it includes. It never changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateVersion {
    /// The template's id.
    pub id: String,
    /// Its number, from 1 on; 0 where the source has no versions.
    pub number: u32,
    /// What it says.
    pub template: Template,
    /// The templates that it includes, and those that these include, by id, as they were when it was published.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partials: BTreeMap<String, Template>,
}

impl TemplateVersion {
    /// A version that lacks nothing: `partial` finds each template that is included. Refuses one that is not there, and one that
    /// includes itself.
    pub fn closed<'a>(
        id: &str,
        number: u32,
        template: Template,
        partial: impl Fn(&str) -> Option<&'a Template>,
    ) -> Result<Self, Invalid> {
        let mut version = Self { id: id.to_owned(), number, template, partials: BTreeMap::new() };
        while let Some(missing) = version.missing_partials()?.into_iter().next() {
            let found = partial(&missing).ok_or_else(|| no_partial(&missing))?;
            version.partials.insert(missing, found.clone());
        }
        Ok(version)
    }

    /// The templates that are included and not in [`partials`](Self::partials) yet; refuses a template that includes itself.
    pub fn missing_partials(&self) -> Result<Vec<String>, Invalid> {
        let mut missing = Vec::new();
        let mut path = vec![self.id.clone()];
        self.walk(&self.template, &mut path, &mut missing)?;
        Ok(missing)
    }

    fn walk(
        &self,
        template: &Template,
        path: &mut Vec<String>,
        missing: &mut Vec<String>,
    ) -> Result<(), Invalid> {
        for id in template.includes()? {
            if path.contains(&id) {
                let way = path.join(" -> ");
                return Err(malformed(format!("{way} -> {id}: a template cannot include itself")));
            }
            if path.len() > Self::MAX_DEPTH {
                return Err(malformed(format!("partials are nested more than {} deep", Self::MAX_DEPTH)));
            }
            match self.partials.get(&id) {
                Some(partial) => {
                    path.push(id);
                    self.walk(partial, path, missing)?;
                    path.pop();
                }
                None if missing.contains(&id) => {}
                None => missing.push(id),
            }
        }
        Ok(())
    }

    /// How deep partials may include others.
    pub const MAX_DEPTH: usize = 5;

    /// Its variables and those of its partials; the template's own stands before a partial's. `None` if it declares none.
    pub fn variables(&self) -> Option<BTreeMap<&str, &TemplateVariable>> {
        let own = self.template.variables.as_ref()?;
        let of_partials = self.partials.values().filter_map(|partial| partial.variables.as_ref());
        Some(of_partials.chain([own]).flatten().map(|(name, variable)| (name.as_str(), variable)).collect())
    }
}

fn no_partial(id: &str) -> Invalid {
    malformed(format!("it includes {id:?}, and no such template is published"))
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "template", why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(body: &str) -> Template {
        let json = serde_json::json!({"default_language": "en", "variables": {}, "texts": {"sms": {"en": {"body": body}}}});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_version_holds_all_that_it_includes_and_never_itself() {
        let (a, b) = (template("{% include 'b' %}"), template("b"));
        let shelf = BTreeMap::from([("a", a.clone()), ("b", b), ("loop", template("{% include 'loop' %}"))]);
        let closed = |body: &str| TemplateVersion::closed("t", 1, template(body), |id| shelf.get(id));
        let version = closed("{% include 'a' %}").unwrap();
        assert_eq!(version.partials.keys().collect::<Vec<_>>(), ["a", "b"]);
        let why = |body: &str| closed(body).unwrap_err().to_string();
        assert!(why("{% include 'c' %}").contains("it includes \"c\", and no such template is published"));
        assert!(why("{% include 'loop' %}").contains("t -> loop -> loop: a template cannot include itself"));
        assert!(why("{% include 't' %}").contains("t -> t"));
    }
}
