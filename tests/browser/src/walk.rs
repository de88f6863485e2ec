use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Failure, Session, shape::shape};

/// Visits every page that clicks lead to from the first one, each kind of page once for each queue, so that a new page is found by
/// itself.
///
/// It follows links, shows payloads and recipients, and clicks buttons whose text ends in `…`: by the board's custom these show first what they
/// would do. No other button is clicked.
pub struct Walk {
    start: String,
    seen: BTreeSet<String>,
    ways: VecDeque<Vec<Step>>,
}

/// A click.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Step {
    /// `a` or `button`.
    pub kind: String,
    /// Where it leads, and with what.
    pub to: String,
    /// The how manieth of its kind with this aim on the page.
    pub nth: usize,
    /// What it says.
    pub text: String,
}

/// A page that was reached.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Its kind.
    pub shape: String,
    /// The clicks that led to it.
    pub way: Vec<Step>,
}

/// Each link to a page of the board, and each button that shows something without a change.
const STEPS: &str = r"
    const counts = {};
    const step = (kind, to, element) => {
        const nth = counts[kind + to] = (counts[kind + to] ?? -1) + 1;
        return { kind, to, nth, text: element.innerText.trim() };
    };
    const links = [...document.querySelectorAll('a[href]')]
        .filter(link => new URL(link.href).origin === location.origin && !link.getAttribute('href').startsWith('#'))
        .map(link => step('a', link.getAttribute('href'), link));
    const aim = button => `${button.form.getAttribute('action')}?${[...new FormData(button.form, button)]
        .map(([name, value]) => name === 'queue' || name === 'action' ? `${name}=${value}` : name).join('&')}`;
    const buttons = [...document.querySelectorAll('form[method=post] button')]
        .filter(button => button.innerText.trim().endsWith('…') || /\/(payload|recipients)$/.test(button.form.getAttribute('action')))
        .map(button => step('button', aim(button), button));
    return [...links, ...buttons];
";

const FIND: &str = r"
    const [step] = arguments;
    const aim = button => `${button.form.getAttribute('action')}?${[...new FormData(button.form, button)]
        .map(([name, value]) => name === 'queue' || name === 'action' ? `${name}=${value}` : name).join('&')}`;
    const all = step.kind === 'a'
        ? [...document.querySelectorAll('a[href]')].filter(link => link.getAttribute('href') === step.to)
        : [...document.querySelectorAll('form[method=post] button')].filter(button => aim(button) === step.to);
    return all[step.nth];
";

impl Walk {
    /// A walk that begins at this address.
    pub fn from(start: &str) -> Self {
        Self { start: start.to_owned(), seen: BTreeSet::new(), ways: VecDeque::from([vec![]]) }
    }

    /// Goes to the next page; `None` after the last one.
    pub async fn next(&mut self, session: &Session) -> Result<Option<Stop>, Failure> {
        let Some(way) = self.ways.pop_front() else { return Ok(None) };
        session.goto(&self.start).await?;
        for step in &way {
            let found =
                session.execute(FIND, [json!({ "kind": step.kind, "to": step.to, "nth": step.nth })]).await?;
            let element = found.element().map_err(|e| format!("no {step:?} on the way {way:?}: {e}"))?;
            session.click(&element).await?;
        }
        let kind = match way.last() {
            None => "/".to_owned(),
            Some(step) => Self::kind(step),
        };
        self.seen.insert(kind.clone());
        let steps: Vec<Step> = session.execute(STEPS, Vec::<Value>::new()).await?.convert()?;
        for step in steps {
            if self.seen.insert(Self::kind(&step)) {
                self.ways.push_back(way.iter().cloned().chain([step]).collect());
            }
        }
        Ok(Some(Stop { shape: kind, way }))
    }

    fn kind(step: &Step) -> String {
        match &*step.kind {
            "button" => format!(
                "POST {}",
                step.to
                    .split_once('?')
                    .map_or_else(|| shape(&step.to), |(path, with)| format!("{}?{with}", shape(path)),)
            ),
            _ => shape(&step.to),
        }
    }
}
