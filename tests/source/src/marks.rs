use std::iter::once;

use super::tree::{File, Tree};

/// A sentence of a comment that begins with a label, in one line or wrapped over several.
#[derive(Debug, PartialEq)]
pub(super) struct Mark {
    /// The file of the comment.
    pub(super) path: String,
    /// The test below the comment; none in the head of a file.
    pub(super) test: Option<String>,
    pub(super) text: String,
}

/// What a test promises to users.
pub(super) const PROMISE: &str = "Promise: ";
/// What keeps a test from failing, and how it was removed.
pub(super) const GUARD: &str = "Guard: ";
/// Why no test fails without the code below.
pub(super) const UNTESTED: &str = "Untested: ";

/// All comments with this label, in the order of the pages.
pub(super) fn all(tree: &Tree, label: &str) -> Vec<Mark> {
    let folders = [("tests", 300), ("app", 100), ("domain", 50), ("ports", 20), ("adapters", 300)];
    let files = folders.into_iter().flat_map(|(folder, least)| tree.files(folder, ".rs", least));
    files.flat_map(|file| of(&file, label)).collect()
}

pub(super) fn of(file: &File, label: &str) -> Vec<Mark> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let marks = (0..lines.len()).filter_map(|n| {
        let first = comment(lines[n])?.strip_prefix(label)?;
        let is_head = lines[n].starts_with("//!");
        let test = if is_head { None } else { name(&lines[n..]) };
        Some(Mark { path: file.path.clone(), test, text: whole(first, &lines[n + 1..]) })
    });
    marks.collect()
}

/// A sentence that goes on in the next lines, up to another label or the end of the paragraph.
fn whole(first: &str, lines: &[&str]) -> String {
    let begins = |text: &str| [PROMISE, GUARD, UNTESTED].iter().any(|label| text.starts_with(label));
    let more = lines.iter().map_while(|line| comment(line));
    let more = more.take_while(|text| !text.is_empty() && !begins(text));
    once(first).chain(more).collect::<Vec<_>>().join(" ")
}

fn comment(line: &str) -> Option<&str> {
    let text = line.strip_prefix("//")?;
    Some(text.strip_prefix(['/', '!']).unwrap_or(text).trim())
}

/// The next function, or the next text that is the name of a test.
fn name(lines: &[&str]) -> Option<String> {
    let code = lines.iter().filter(|line| comment(line).is_none());
    code.filter_map(|line| function(line).or_else(|| quoted(line))).next().map(str::to_owned)
}

fn function(line: &str) -> Option<&str> {
    line.split_once("fn ")?.1.split(['(', '<']).next()
}

fn quoted(line: &str) -> Option<&str> {
    let texts = line.split('"').skip(1).step_by(2).filter_map(|text| text.rsplit("::").next());
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    texts.into_iter().find(|name| name.matches('_').count() >= 3 && name.chars().all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str, label: &str) -> Vec<(Option<String>, String)> {
        of(&File::new("a.rs", text), label).into_iter().map(|mark| (mark.test, mark.text)).collect()
    }

    #[test]
    fn a_sentence_is_joined_and_ends_with_its_paragraph_or_at_the_next_label() {
        let text =
            "//! A file.\n//! Promise: it is\n//! kept\n//!\n//! More.\n    // Guard: a\n    // Guard: b\n";
        assert_eq!(marks(text, PROMISE), [(None, "it is kept".to_owned())]);
        assert_eq!(marks(text, GUARD), [(None, "a".to_owned()), (None, "b".to_owned())]);
    }

    #[test]
    fn a_sentence_above_a_function_or_a_name_is_of_that_test() {
        let named = |text: &str| marks(text, GUARD).remove(0).0.unwrap();
        assert_eq!(
            named("/// Guard: a\n/// Guard: b\n#[ignore = \"long\"]\nasync fn it_holds<F>(f: F) {}"),
            "it_holds"
        );
        assert_eq!(
            named("// Guard: a\nadd(\n  &format!(\"{server}::it_is_kept_whole\"), x)"),
            "it_is_kept_whole"
        );
    }
}
