use crate::Invalid;

/// Refuses what is no good id of a template: it stands in paths of files and of URLs.
pub(super) fn check_id(id: &str) -> Result<(), Invalid> {
    Invalid::unless_length("template id", id, 128)?;
    refuse_other("template id", id, |c| c.is_ascii_alphanumeric() || "-_.".contains(c), ID_ALLOWED)?;
    match id.starts_with('.') {
        true => Err(Invalid::Character { what: "template id", found: '.', allowed: ID_ALLOWED }),
        false => Ok(()),
    }
}

/// Refuses what is no language tag.
pub(super) fn check_language(tag: &str) -> Result<(), Invalid> {
    Invalid::unless_length("template language", tag, 35)?;
    let allowed = "use a tag such as de or de-AT";
    refuse_other("template language", tag, |c| c.is_ascii_alphanumeric() || "-_".contains(c), allowed)
}

/// Refuses what is no name of a variable, or is taken.
pub(super) fn check_variable(name: &str) -> Result<(), Invalid> {
    Invalid::unless_length("template variable", name, 64)?;
    if !is_name(name) {
        let why = format!("{name:?} is no name; use letters, digits and _, and no digit first");
        return Err(Invalid::Malformed { what: "template variable", why });
    }
    match TAKEN.contains(&name) {
        true => {
            let why = format!("the name {name:?} is taken; use another one");
            Err(Invalid::Malformed { what: "template variable", why })
        }
        false => Ok(()),
    }
}

/// Whether this is a plain name.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Names that mean something else to the engine.
pub(super) const TAKEN: [&str; 16] = [
    "recipient",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "not",
    "and",
    "or",
    "in",
    "is",
    "if",
    "else",
    "loop",
    "self",
];

const ID_ALLOWED: &str = "use letters, digits, '-', '_' and '.', and no '.' first";

fn refuse_other(
    what: &'static str,
    text: &str,
    is_allowed: impl Fn(char) -> bool,
    allowed: &'static str,
) -> Result<(), Invalid> {
    match text.chars().find(|c| !is_allowed(*c)) {
        Some(found) => Err(Invalid::Character { what, found, allowed }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_free() {
        assert!(check_id("order-paid.v2").is_ok());
        assert!(["", ".hidden", "../a", "a/b", "a b", "ä"].iter().all(|id| check_id(id).is_err()));
        assert!(check_language("zh-Hant_TW").is_ok() && check_language("de/AT").is_err());
        assert!(check_variable("order_id").is_ok() && check_variable("_2").is_ok());
        assert!(["", "2x", "a-b", "recipient", "none"].iter().all(|name| check_variable(name).is_err()));
    }
}
