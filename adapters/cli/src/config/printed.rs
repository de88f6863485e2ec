use std::fmt::Write;

use super::{Loaded, setting::Setting};

impl Loaded {
    /// The configuration as a file would have it, each value with where it was set. Secrets are `***`.
    pub fn printed(&self) -> String {
        let mut lines = Vec::new();
        // The list of keys is a walk over values that could be changed.
        self.config.clone().each(&mut |key, setting| lines.extend(ConfigLine::of(key, setting)));
        let width = lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
        let (mut printed, mut section) = (String::new(), String::new());
        for line in lines {
            if line.section != section {
                section = line.section;
                let _ = writeln!(printed, "\n[{section}]");
            }
            let _ = writeln!(printed, "{:<width$}  # {}", line.text, self.origin(&line.key));
        }
        printed
    }
}

struct ConfigLine {
    key: String,
    section: String,
    text: String,
}

impl ConfigLine {
    /// The line of a key; none for what a channel or a provider leaves to the defaults of all channels.
    fn of(key: &str, setting: &dyn Setting) -> Option<Self> {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        let is_channel = section.starts_with("channels.") && section != "channels.default";
        let inherits = is_channel || section.starts_with("providers.");
        let text = match setting.written() {
            Some(value) => format!("{name} = {value}"),
            None if inherits => return None,
            None => format!("# {name} is not set"),
        };
        Some(Self { key: key.to_owned(), section: section.to_owned(), text })
    }
}
