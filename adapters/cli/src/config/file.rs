use std::path::Path;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    assignment::{Assignment, Origin},
    error::ConfigFault,
};

/// What a file assigns, with the line of each key; faults never repeat a line, because it may bear a secret.
pub(super) fn read(path: &Path) -> Result<Vec<Assignment>, Vec<ConfigFault>> {
    let whole = Origin::File { path: path.into(), line: None };
    let text = std::fs::read_to_string(path)
        .map_err(|e| vec![ConfigFault::at(&whole, format!("the configuration cannot be read: {e}"))])?;
    parse(path, text.trim_start_matches('\u{feff}'))
}

fn parse(path: &Path, text: &str) -> Result<Vec<Assignment>, Vec<ConfigFault>> {
    let origin = |at: usize| Origin::File { path: path.into(), line: Some(line(text, at)) };
    match DeTable::parse(text) {
        Ok(table) => {
            let mut found = FileReading { origin: &origin, assignments: Vec::new(), faults: Vec::new() };
            found.table("", table.get_ref());
            if found.faults.is_empty() { Ok(found.assignments) } else { Err(found.faults) }
        }
        Err(e) => {
            let at = e.span().map_or(0, |span| span.start);
            Err(vec![ConfigFault::at(&origin(at), format!("this is not TOML: {}", e.message()))])
        }
    }
}

/// The number of the line that a byte lies in, counted from 1.
fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

struct FileReading<'a> {
    origin: &'a dyn Fn(usize) -> Origin,
    assignments: Vec<Assignment>,
    faults: Vec<ConfigFault>,
}

impl FileReading<'_> {
    fn table(&mut self, within: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = match within {
                "" => name.get_ref().to_string(),
                _ => format!("{within}.{}", name.get_ref()),
            };
            self.value(key, name.span().start, value);
        }
    }

    fn value(&mut self, key: String, at: usize, value: &Spanned<DeValue<'_>>) {
        let origin = (self.origin)(at);
        let text = match value.get_ref() {
            DeValue::Table(table) => return self.table(&key, table),
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => number.to_string(),
                Err(_) => number.to_string(),
            },
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Array(_) | DeValue::Datetime(_) => {
                let why = format!("`{key}` must be a text, a number, or true or false");
                return self.faults.push(ConfigFault::at(&origin, why));
            }
        };
        self.assignments.push(Assignment { name: key.clone(), key, text, origin });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String, String)>, String> {
        let path = Path::new("c.toml");
        let assignments = parse(path, text).map_err(|faults| faults[0].to_string())?;
        Ok(assignments.into_iter().map(|a| (a.key, a.text, a.origin.to_string())).collect())
    }

    #[test]
    fn finds_every_value_and_its_line() {
        let mut found = parsed("name = '2d'\n[relay]\n\nbatch = 1_0\n[log]\nlevel = \"info\"").unwrap();
        found.sort();
        let expected = [("log.level", "info", 6), ("name", "2d", 1), ("relay.batch", "10", 4)];
        let expected = expected.map(|(key, text, line)| (key.into(), text.into(), format!("c.toml:{line}")));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_syntax_error_has_a_line_and_does_not_repeat_it() {
        let why = parsed("\n[database]\npassword = \"hunter2\n").unwrap_err();
        assert!(why.starts_with("c.toml:3: this is not TOML") && !why.contains("hunter2"), "{why}");
        let why = parsed("password = hunter2\n").unwrap_err();
        assert!(why.starts_with("c.toml:1: this is not TOML") && !why.contains("hunter2"), "{why}");
        assert_eq!(
            parsed("a = [1]").unwrap_err(),
            "c.toml:1: `a` must be a text, a number, or true or false"
        );
    }
}
