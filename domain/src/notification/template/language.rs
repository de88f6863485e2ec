use std::collections::BTreeMap;

/// The entry of the language that comes nearest: `de-AT`, else `de`, else the default language and what that is cut to.
///
/// Case and the kind of dash do not matter, so `de_at` finds `de-AT`.
pub(super) fn nearest<'a, T>(
    of: &'a BTreeMap<String, T>,
    language: Option<&str>,
    default: &str,
) -> Option<(&'a str, &'a T)> {
    let wanted = language.into_iter().chain([default]).flat_map(shorter);
    let mut found = wanted.filter_map(|wanted| of.iter().find(|(known, _)| is_same(known, wanted)));
    found.next().map(|(language, text)| (language.as_str(), text))
}

/// Whether two tags name the same language.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let letter = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    one.len() == other.len() && one.bytes().map(letter).eq(other.bytes().map(letter))
}

/// A language tag, and what is left of it when it is cut at its dashes from the end.
fn shorter(tag: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(tag), |tag| tag.rfind(['-', '_']).map(|dash| &tag[..dash]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_falls_back_to_the_shorter_tag_and_then_to_the_default() {
        let of =
            |languages: &[&str]| languages.iter().map(|l| ((*l).to_owned(), ())).collect::<BTreeMap<_, _>>();
        let found = |known: &[&str], language: Option<&str>, default: &str| {
            nearest(&of(known), language, default).map(|(language, ())| language.to_owned())
        };
        let known = ["de", "de-AT", "en"];
        assert_eq!(found(&known, Some("de-AT"), "en").as_deref(), Some("de-AT"));
        assert_eq!(found(&known, Some("de_at"), "en").as_deref(), Some("de-AT"));
        assert_eq!(found(&known, Some("de-CH-1996"), "en").as_deref(), Some("de"));
        assert_eq!(found(&known, Some("ko"), "en").as_deref(), Some("en"));
        assert_eq!(found(&known, None, "en-GB").as_deref(), Some("en"));
        assert_eq!(found(&["fr"], Some("de"), "en"), None);
        assert_eq!(found(&["d"], Some("de"), "ko"), None);
    }
}
