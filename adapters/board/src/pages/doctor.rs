use std::{cmp::Reverse, time::Duration};

use askama::Template;
use axum::{http::StatusCode, response::Response};
use claimstream_domain::{Finding, FindingGroup, Severity};

use crate::{
    examination::{Examined, NotExamined},
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::span,
};

/// What the self-check has found, in groups, the worst first.
pub(crate) async fn show(context: RequestContext) -> Response {
    match context.app.examination.ask().await {
        Ok(examined) => {
            answer(StatusCode::OK, &DoctorPage::of(&examined, context.app.now(), context.frame()))
        }
        Err(NotExamined::Nowhere) => context.refuse(&Refusal::no_such_page()),
        Err(NotExamined::Slow) => context.refuse(&Refusal::unexamined()),
        Err(NotExamined::Refused(error)) => context.refuse(&Refusal::of_store(&error)),
    }
}

struct GroupView {
    about: &'static str,
    findings: Vec<FindingRow>,
}

struct FindingRow {
    severity: &'static str,
    is_good: bool,
    check: &'static str,
    detail: String,
}

impl GroupView {
    /// The findings, failures and warnings first.
    fn of(group: &FindingGroup) -> Self {
        let mut findings: Vec<&Finding> = group.findings.iter().collect();
        findings.sort_by_key(|finding| Reverse(finding.severity));
        Self { about: group.about, findings: findings.into_iter().map(FindingRow::of).collect() }
    }
}

impl FindingRow {
    fn of(finding: &Finding) -> Self {
        let severity = match finding.severity {
            Severity::Good => "ok",
            Severity::Warning => "warning",
            Severity::Failure => "failure",
        };
        let is_good = finding.severity == Severity::Good;
        Self { severity, is_good, check: finding.check, detail: finding.detail.clone() }
    }
}

#[derive(Template)]
#[template(path = "doctor.html")]
struct DoctorPage {
    frame: Frame,
    age: String,
    failures: usize,
    warnings: usize,
    good: usize,
    groups: Vec<GroupView>,
}

impl DoctorPage {
    fn of(examined: &Examined, now: Duration, frame: Frame) -> Self {
        let all = || examined.groups.iter().flat_map(|group| &group.findings);
        let number = |severity| all().filter(|finding| finding.severity == severity).count();
        let mut groups: Vec<&FindingGroup> =
            examined.groups.iter().filter(|group| !group.findings.is_empty()).collect();
        groups.sort_by_key(|group| Reverse(group.findings.iter().map(|finding| finding.severity).max()));
        Self {
            frame,
            age: span(examined.age(now)),
            failures: number(Severity::Failure),
            warnings: number(Severity::Warning),
            good: number(Severity::Good),
            groups: groups.into_iter().map(GroupView::of).collect(),
        }
    }
}
