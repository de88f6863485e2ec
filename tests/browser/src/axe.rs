use std::{path::Path, sync::Arc};

use serde::Deserialize;

use crate::{Failure, Session};

/// The script of axe-core, which looks for barriers in a page: for people who do not see it, use no mouse, or see little contrast.
#[derive(Clone, Debug)]
pub struct Axe {
    script: Arc<str>,
}

/// Every rule of WCAG 2.2, levels A and AA, and the best practices. Answers how many it applied, and a line for each element that
/// breaks one, and for each whose contrast it could not find out.
const RUN: &str = r"
    const done = arguments[arguments.length - 1];
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const said = check => check.message;
    const lines = rule => rule.nodes.map(node =>
        `${rule.id}: ${node.html}: ${[...node.any, ...node.all, ...node.none].map(said).join('; ')}`);
    axe.run(document, { runOnly: { type: 'tag', values: tags } }).then(
        found => done({
            rules: found.passes.length + found.violations.length,
            barriers: found.violations.flatMap(lines),
            doubts: found.incomplete.filter(rule => rule.id === 'color-contrast').flatMap(lines),
        }),
        error => done({ rules: 0, barriers: [`axe-core failed: ${error}`], doubts: [] }));
";

/// What axe-core says of a page, a line for each element.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Findings {
    /// How many rules had something to be applied to.
    pub rules: usize,
    /// What breaks a rule.
    pub barriers: Vec<String>,
    /// Whose contrast it could not find out: too little text, or scrolled out of sight.
    pub doubts: Vec<String>,
}

impl Axe {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let script =
            std::fs::read_to_string(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        Ok(Self { script: script.into() })
    }

    /// What it says of the page of a session. The driver runs the script, so that the policy of the page stays as it is.
    pub(crate) async fn look_at(&self, session: &Session) -> Result<Findings, Failure> {
        session.execute(&*self.script, []).await?;
        Ok(session.execute_async(RUN, []).await?.convert()?)
    }
}
