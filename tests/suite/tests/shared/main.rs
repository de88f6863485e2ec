//! What the suite itself promises: what a case needs, what a report shows, and what its instruments notice.

mod case;
mod commands;
mod coverage;
mod history;
mod report;
