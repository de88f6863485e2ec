use claimstream_domain::{Invalid, RetryPolicy};

use super::{contradiction::Contradiction, setting::Setting};

/// Shows the values of a retry policy, under the keys of its section.
pub(super) fn each(policy: &mut RetryPolicy, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
    visit(&format!("{section}.base"), &mut policy.base);
    visit(&format!("{section}.cap"), &mut policy.cap);
    visit(&format!("{section}.max_attempts"), &mut policy.max_attempts);
    visit(&format!("{section}.jitter"), &mut policy.jitter);
}

/// Why a policy could never run, if so, and the key to mend.
pub(super) fn contradiction(policy: &RetryPolicy, section: &str) -> Option<Contradiction> {
    let invalid = policy.check().err()?;
    let key = match &invalid {
        Invalid::OutOfRange { what: "max_attempts", .. } => "max_attempts",
        Invalid::OutOfRange { what: "retry cap", .. } => "cap",
        _ => "base",
    };
    Some((format!("{section}.{key}"), invalid.to_string()))
}
