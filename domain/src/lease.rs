use std::time::Duration;

use crate::Invalid;

/// How long a claim lasts before another instance may take the message: 10 ms to 12 h, 30 s by default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lease(Duration);

impl Lease {
    /// The shortest lease that is not a mistake.
    pub const MIN: Duration = Duration::from_millis(10);
    /// The longest lease; a longer one would hide a crash for that long.
    pub const MAX: Duration = Duration::from_secs(12 * 3600);

    /// Takes a duration; refuses one below [`MIN`](Self::MIN) or above [`MAX`](Self::MAX).
    pub fn new(duration: Duration) -> Result<Self, Invalid> {
        if (Self::MIN..=Self::MAX).contains(&duration) {
            return Ok(Self(duration));
        }
        Err(Invalid::OutOfRange {
            what: "lease",
            given: format!("{duration:?}"),
            allowed: format!("{:?} to {:?}", Self::MIN, Self::MAX),
        })
    }

    /// The lease's length.
    pub fn duration(self) -> Duration {
        self.0
    }

    /// When to renew: a third of the lease, so that two renewals may fail before it is lost.
    pub fn renew_after(self) -> Duration {
        self.0 / 3
    }
}

impl Default for Lease {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_zero_and_a_day() {
        assert!(matches!(Lease::new(Duration::ZERO), Err(Invalid::OutOfRange { what: "lease", .. })));
        assert!(Lease::new(Duration::from_secs(86_400)).is_err());
        assert_eq!(Lease::default().renew_after(), Duration::from_secs(10));
    }
}
