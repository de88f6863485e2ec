use std::io::{IsTerminal, Write, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far long work has come: a bar on the standard error if that is a terminal, and nothing elsewhere.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    const BAR: &'static str = "{msg} {wide_bar} {human_pos}/{human_len} {unit} {eta}";
    const SPINNER: &'static str = "{msg} {human_pos} {unit} {elapsed}";

    /// For work of which the length is known, or is not, counted in `unit`.
    pub(crate) fn new(what: &'static str, length: Option<u64>, unit: &'static str) -> Self {
        let target = match stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let template = if length.is_some() { Self::BAR } else { Self::SPINNER };
        let bar = ProgressBar::with_draw_target(length, target).with_message(what);
        let style = ProgressStyle::with_template(&template.replace("{unit}", unit));
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// So much more is done.
    pub(crate) fn advance(&self, by: u64) {
        self.0.inc(by);
    }

    /// Writes a line to the standard error above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.0.suspend(|| {
            // The exit code reports it as well.
            let _ = writeln!(stderr(), "{line}");
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_templates_can_be_read() {
        for template in [Progress::BAR, Progress::SPINNER] {
            assert!(ProgressStyle::with_template(&template.replace("{unit}", "bytes")).is_ok(), "{template}");
        }
    }
}
