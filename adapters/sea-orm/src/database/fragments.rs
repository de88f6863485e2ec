use crate::database::dialect::Dialect;

/// What `{name}` and `{name argument}` stand for on one kind of server, in the files that all kinds share.
///
/// `sql/README.md` explains each; the texts themselves are SQL and stand next to the statements.
pub(crate) struct Fragments(Vec<(&'static str, &'static str)>);

impl Fragments {
    pub(crate) fn of(dialect: Dialect) -> Self {
        let file = match dialect {
            Dialect::MySql => include_str!("../sql/fragments.mysql.sql"),
            Dialect::Sqlite => include_str!("../sql/fragments.sqlite.sql"),
        };
        let lines = file.lines().filter(|line| !line.starts_with("--"));
        let named = lines.filter_map(|line| line.split_once('='));
        Self(named.map(|(name, text)| (name.trim(), text.trim())).collect())
    }

    /// The text with each fragment replaced, from the innermost outwards; other text in braces stays.
    pub(crate) fn expand(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once('{') else { return text.to_owned() };
        let Some((inside, after)) = to_its_end(rest) else { return text.to_owned() };
        let inside = self.expand(inside);
        let (name, argument) = inside.split_once(' ').unwrap_or((&inside, ""));
        let fragment = match self.0.iter().find(|(known, _)| *known == name) {
            Some((_, fragment)) => fragment.replace('$', argument),
            None => format!("{{{inside}}}"),
        };
        format!("{before}{fragment}{}", self.expand(after))
    }
}

/// Cuts where the brace closes that has been opened before `rest`.
fn to_its_end(rest: &str) -> Option<(&str, &str)> {
    let mut depth = 1_u32;
    let end = rest.find(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some((&rest[..end], &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_stand_within_each_other() {
        let expanded = |dialect| {
            Fragments::of(dialect)
                .expand("SELECT {octets a}, {signed {octets b}} WHERE c {is} :c {for_update NOWAIT}")
        };
        assert_eq!(
            expanded(Dialect::MySql),
            "SELECT OCTET_LENGTH(a), CAST(OCTET_LENGTH(b) AS SIGNED) WHERE c <=> :c FOR UPDATE NOWAIT"
        );
        assert_eq!(expanded(Dialect::Sqlite), "SELECT LENGTH(a), LENGTH(b) WHERE c IS :c ");
    }

    #[test]
    fn what_is_no_fragment_stays() {
        let fragments = Fragments::of(Dialect::MySql);
        for text in ["SELECT {no such} FROM t", "SELECT '{' FROM t", "}{"] {
            assert_eq!(fragments.expand(text), text);
        }
    }

    #[test]
    fn both_dialects_have_the_same_fragments_and_the_page_explains_each() {
        let names = |dialect| Fragments::of(dialect).0.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(Dialect::MySql), names(Dialect::Sqlite));
        for name in names(Dialect::MySql) {
            let page = include_str!("../sql/README.md");
            assert!(page.contains(&format!("| `{{{name}")), "sql/README.md does not explain {name}");
        }
    }
}
