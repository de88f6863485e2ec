use std::time::Duration;

use claimstream_notifications::{DigestRule, DigestRules, consent::Category};

use super::setting::{ConfigValue, quoted};

/// Categories whose messages become one, written like `orders 1h, news 1d daily-news`: the category, how long the first message waits for
/// others, and the template that is filled in with all of them, if there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoryDigests(pub Vec<(Category, DigestRule)>);

impl CategoryDigests {
    /// The same as both pipelines read it.
    pub(crate) fn rules(&self) -> DigestRules {
        DigestRules { categories: self.0.iter().cloned().collect() }
    }
}

impl ConfigValue for CategoryDigests {
    fn read(text: &str) -> Result<Self, String> {
        let one = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let (name, window, template) = match words[..] {
                [name, window] => (name, window, None),
                [name, window, template] => (name, window, Some(template)),
                _ => {
                    let like = "like \"orders 1h\" or \"news 1d daily-news\"";
                    return Err(format!(
                        "{:?} is not a category, its window and a template, {like}",
                        text.trim()
                    ));
                }
            };
            let rule = DigestRule::new(Duration::read(window)?).map_err(|e| e.to_string())?;
            let rule = template.map_or(rule.clone(), |template| rule.with_template(template));
            Ok((Category::new(name).map_err(|e| e.to_string())?, rule))
        };
        let all = text.split(',').map(one).collect::<Result<Vec<_>, String>>()?;
        let is_twice = |n: usize| all[..n].iter().any(|(name, _)| *name == all[n].0);
        match (0..all.len()).find(|n| is_twice(*n)) {
            Some(n) => Err(format!("the category {:?} is named twice", all[n].0.as_str())),
            None => Ok(Self(all)),
        }
    }

    fn write(&self) -> String {
        let one = |(name, rule): &(Category, DigestRule)| {
            let window = humantime::format_duration(rule.window).to_string().replace(' ', "");
            let template = rule.template.iter().map(|template| format!(" {template}"));
            format!("{name} {window}{}", template.collect::<String>())
        };
        quoted(&self.0.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_are_written_and_mistakes_are_refused() {
        let read = CategoryDigests::read("orders 90m,  news 1d daily-news").unwrap();
        assert_eq!(read.write(), "\"orders 1h30m, news 1day daily-news\"");
        assert_eq!(CategoryDigests::read("orders 1h30m, news 1day daily-news"), Ok(read.clone()));
        assert_eq!(read.rules().categories.len(), 2);
        let why = |text| CategoryDigests::read(text).unwrap_err();
        assert!(why("orders").contains("like \"orders 1h\""));
        assert!(why("orders soon").contains("not a duration"));
        assert!(why("orders 30d").contains("1 second to 7 days"));
        assert!(why("a 1h, b 1h, a 2h").contains("\"a\" is named twice"));
    }
}
