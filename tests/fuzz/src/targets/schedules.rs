use claimstream_domain::{
    Timestamp,
    notification::consent::{QuietHours, TimeZone},
    timer_event::Schedule,
};

use crate::{
    Target,
    head::{split, text},
};

/// A cron expression after its zone.
pub(super) const CRON: Target = Target {
    name: "cron",
    run: |data| {
        let (zone, expression) = split(data, b'\n');
        let (Some(zone), Some(expression)) = (text(zone), text(expression)) else { return false };
        let Ok(schedule) = Schedule::cron(expression, zone) else { return false };
        let mut moment = moment(1_774_746_000_000_000);
        for _ in 0..4 {
            let Some(next) = schedule.next_after(moment) else { return true };
            assert!(next > moment, "{expression:?} does not come after {moment}");
            assert!(schedule.has(next), "{expression:?} does not have its own {next}");
            moment = next;
        }
        true
    },
    seeds: &[
        b"Europe/Berlin\n30 2 * * *",
        b"UTC\n*/5 0-3,22 * JAN-JUN MON-FRI",
        b"America/New_York\n0 0 1 L * 5#2",
        b"UTC\n@daily",
        b"UTC\n0 0 29 2 *",
        b"UTC\n0 12 15W * *",
    ],
};

/// Quiet hours after a zone.
pub(super) const QUIET_HOURS: Target = Target {
    name: "quiet_hours",
    run: |data| {
        let (zone, hours) = split(data, b'\n');
        let (Some(zone), Some(hours)) = (text(zone), text(hours)) else { return false };
        let (Ok(zone), Ok(hours)) = (TimeZone::new(zone), hours.parse::<QuietHours>()) else { return false };
        assert_eq!(hours.to_string().parse().ok(), Some(hours));
        // Hours around a change of the clock.
        for hour in 0..30 {
            let wait = hours.wait(moment(1_774_702_800_000_000 + hour * 3_600_000_000), &zone);
            assert!(wait.as_secs() <= 26 * 3_600, "{hours} wait {wait:?}");
        }
        true
    },
    seeds: &[b"Europe/Berlin\n22:00-08:00", b"UTC\nnone", b"Australia/Lord_Howe\n02:00-02:30"],
};

fn moment(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).expect("a moment of this century")
}
