use std::collections::BTreeSet;

use super::identifier::{TAKEN, is_name};
use crate::Invalid;

/// A part of what a template says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TemplatePart {
    /// The subject line.
    Title,
    /// The text.
    Body,
    /// The same as a page.
    Html,
}

impl TemplatePart {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Body => "body",
            Self::Html => "html",
        }
    }
}

/// The statements that templates may use. `autoescape` would let values into a page as they are, and `import`, `extends`, `block` and
/// their like make of partials what only programmers read.
const STATEMENTS: [&str; 13] = [
    "if", "elif", "else", "endif", "for", "endfor", "include", "raw", "endraw", "set", "endset", "with",
    "endwith",
];

/// The templates that a text includes; refuses, with the line, statements that templates may not use.
///
/// It looks at each `{%`, in comments too, so no statement is overlooked.
pub(super) fn includes(text: &str) -> Result<BTreeSet<String>, Invalid> {
    let mut included = BTreeSet::new();
    for (at, _) in text.match_indices("{%") {
        let statement = text[at + 2..].trim_start_matches(['-', '+']).trim_start();
        let end =
            statement.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(statement.len());
        let (word, rest) = statement.split_at(end);
        match word {
            "include" => included.insert(included_name(rest).ok_or_else(|| {
                refused(text, at, "include takes one name in quotes, such as {% include \"footer\" %}".into())
            })?),
            // No statement begins like this, unless the engine says otherwise.
            "" => continue,
            word if STATEMENTS.contains(&word) => continue,
            word => return Err(refused(text, at, format!("templates have no statement {word:?}"))),
        };
    }
    Ok(included)
}

fn included_name(rest: &str) -> Option<String> {
    let (inside, _) = rest.split_once("%}")?;
    let inside = inside.trim_end_matches(['-', '+']).trim();
    let quote = inside.chars().next().filter(|c| "\"'".contains(*c))?;
    let name = inside.strip_prefix(quote)?.strip_suffix(quote)?;
    (!name.is_empty() && !name.contains(['"', '\'', '\\'])).then(|| name.to_owned())
}

/// Refuses, with the line, what only a template with declared variables may use: everything but `{{ name }}`.
///
/// So a template that was written for plain names means what it meant, or is refused.
pub(super) fn refuse_other_than_names(text: &str) -> Result<(), Invalid> {
    let declare = "declare the template's variables to use it";
    if let Some(at) = ["{%", "{#"].iter().filter_map(|begin| text.find(begin)).min() {
        return Err(refused(
            text,
            at,
            format!("{:?} begins a statement or a comment; {declare}", &text[at..at + 2]),
        ));
    }
    for (at, _) in text.match_indices("{{") {
        let Some((inside, _)) = text[at + 2..].split_once("}}") else {
            return Err(refused(text, at, "a '{{' has no '}}'".into()));
        };
        let inside = inside.trim();
        let of_recipient = inside.strip_prefix("recipient.").is_some_and(|path| path.split('.').all(is_name));
        if !of_recipient && (!is_name(inside) || TAKEN.contains(&inside)) {
            return Err(refused(text, at, format!("{{{{ {inside} }}}} is no plain name; {declare}")));
        }
    }
    Ok(())
}

/// Refuses, with the line, a comment that was not meant as one: `{#` without a blank behind it, as minified CSS has it (`@media print{#menu{…`). Everything
/// up to the next `#}` would be left out without a word.
pub(super) fn refuse_hidden(text: &str) -> Result<(), Invalid> {
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let rest = &text[at..];
        let end_of = |end: &str| rest.find(end).map_or(text.len(), |found| at + found + end.len());
        from = at + 1;
        if let Some(comment) = rest.strip_prefix("{#") {
            if !comment.trim_start_matches(['-', '+']).starts_with(char::is_whitespace) {
                let why = "{# begins a comment, so that everything up to the next #} would be left out; write { # in a style, and a comment as {# text #}";
                return Err(refused(text, at, why.into()));
            }
            from = end_of("#}");
        } else if let Some(statement) = rest.strip_prefix("{%")
            && statement.trim_start_matches(['-', '+']).trim_start().starts_with("raw")
        {
            from = end_of("endraw");
        }
    }
    Ok(())
}

fn refused(text: &str, at: usize, why: String) -> Invalid {
    let line = text[..at].matches('\n').count() + 1;
    Invalid::Malformed { what: "template", why: format!("line {line}: {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_included_and_refuses_other_statements_with_their_line() {
        let found =
            includes("a {% include \"x\" %}\n{%- include 'y-z' -%}{% if a %}{% endif %}{{ '{%' }}").unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["x", "y-z"]);
        for (text, why) in [
            ("\n\n{% autoescape false %}", "line 3: templates have no statement \"autoescape\""),
            ("{%extends 'a'%}", "no statement \"extends\""),
            ("{% include name %}", "line 1: include takes one name"),
            ("{% include ['a', 'b'] %}", "include takes one name"),
            ("{% include 'a' ~ name %}", "include takes one name"),
            ("{% include 'a' if b else 'c' %}", "include takes one name"),
            ("{% include 'a' ignore missing %}", "include takes one name"),
        ] {
            let refused = includes(text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn without_declarations_only_plain_names_are_taken() {
        for good in ["Hi {{name}}, {{ x_1 }} { } }}", "{{recipient.attributes.city}}", "", "%} #}"] {
            assert_eq!(refuse_other_than_names(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("a\n{{first-name}}", "line 2: {{ first-name }} is no plain name"),
            ("{{ order.id }}", "no plain name"),
            ("{{ none }}", "no plain name"),
            ("{{ name | upper }}", "declare the template's variables"),
            ("{{name", "a '{{' has no '}}'"),
            ("100{% of", "\"{%\" begins a statement"),
            ("{#1}", "\"{#\" begins"),
        ] {
            let refused = refuse_other_than_names(bad).unwrap_err().to_string();
            assert!(refused.contains(why), "{bad}: {refused}");
        }
    }

    #[test]
    fn an_accidental_comment_is_refused_with_its_line() {
        for good in [
            "",
            "{# note #}a{#- note -#}",
            "{#\nnote {#x #}",
            "a { #b{c} }",
            "{% raw %}{#a{}{% endraw %}",
            "#}",
        ] {
            assert_eq!(refuse_hidden(good), Ok(()), "{good}");
        }
        for bad in [
            "a\n@media print{#menu{display:none}}",
            "\n{#1}",
            "\n{##}",
            "{# a #}\n{#",
            "{%raw%}{#a{%endraw%}\n{#b",
        ] {
            let refused = refuse_hidden(bad).unwrap_err().to_string();
            assert!(refused.contains("line 2: {# begins a comment"), "{bad}: {refused}");
        }
    }
}
