use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// How far submitting and delivering have come.
pub(crate) struct Bars {
    pub(crate) submitted: ProgressBar,
    pub(crate) delivered: ProgressBar,
}

impl Bars {
    pub(crate) fn new(requests: usize, messages: usize) -> Self {
        let all = MultiProgress::new();
        let bar = |name: &'static str, length: usize| {
            let style = ProgressStyle::with_template(
                "{prefix:>10} {wide_bar} {pos:>6}/{len:<6} {per_sec:>12} {elapsed:>4}",
            );
            let bar = ProgressBar::new(length as u64).with_prefix(name);
            all.add(style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style)))
        };
        Self { submitted: bar("submitted", requests), delivered: bar("delivered", messages) }
    }

    pub(crate) fn abandon(&self) {
        self.submitted.abandon();
        self.delivered.abandon();
    }

    pub(crate) fn finish(&self) {
        self.submitted.finish();
        self.delivered.abandon();
    }
}
