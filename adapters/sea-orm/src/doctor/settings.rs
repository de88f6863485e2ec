use claimstream_ports::StoreError;

use crate::{
    database::session_setting::{SessionSetting, unfit_mode},
    doctor::{
        examination::Examination,
        finding::{Finding, either, failure, good, warning},
    },
};

const DOCTOR: &str = "doctor";

pub(super) fn examine_session<'a>(read: impl Fn(&str) -> &'a str) -> Vec<Finding> {
    let isolation = [read("transaction_isolation"), read("tx_isolation")].concat();
    let unfit = SessionSetting::ALL.iter().filter(|setting| !setting.holds(&read));
    let unfit: Vec<_> = unfit.map(|setting| setting.refusal(&read)).collect();
    vec![
        either(
            isolation.contains("READ-COMMITTED"),
            good("isolation", "READ COMMITTED on our connections"),
            failure("isolation", format!("must be READ COMMITTED on our connections, is {isolation}")),
        ),
        either(
            unfit.is_empty(),
            good("session", "every setting on our connections has the value that statements need"),
            failure("session", format!("on our connections {}", unfit.join("; "))),
        ),
        match unfit_mode(read("sql_mode")) {
            None => good("sql_mode", "strict"),
            Some(why) => failure("sql_mode", format!("of our connections {why}")),
        },
        either(
            read("time_zone") == "+00:00",
            good("time zone", "+00:00 on our connections"),
            warning(
                "time zone",
                format!("{} on our connections; all our times are UTC_TIMESTAMP", read("time_zone")),
            ),
        ),
    ]
}

pub(super) fn examine_durability<'a>(read: impl Fn(&str) -> &'a str) -> Vec<Finding> {
    let statement_log = read("log_bin") == "ON" && read("binlog_format") == "STATEMENT";
    vec![
        either(
            read("innodb_flush_log_at_trx_commit") == "1",
            good("durability", "innodb_flush_log_at_trx_commit = 1"),
            warning(
                "durability",
                format!(
                    "innodb_flush_log_at_trx_commit = {}; a crash of the server may lose committed messages, set it to 1",
                    read("innodb_flush_log_at_trx_commit")
                ),
            ),
        ),
        either(
            !statement_log,
            good("binary log", format!("log_bin {}, format {}", read("log_bin"), read("binlog_format"))),
            failure("binary log", "binlog_format = STATEMENT replicates claims wrongly; set ROW or MIXED"),
        ),
        either(
            read("read_only") != "ON" && read("innodb_read_only") != "ON",
            good("writable", "read_only = OFF"),
            failure("writable", "the server is read-only; connect to the primary"),
        ),
    ]
}

pub(super) fn examine_product<'a>(read: impl Fn(&str) -> &'a str) -> Finding {
    let product = format!("{} {}", read("version"), read("version_comment")).to_lowercase();
    either(
        !product.contains("tidb") && !product.contains("vitess"),
        good("product", product.trim().to_owned()),
        warning("product", format!("{product} is not tested; use strategy preemptive_update")),
    )
}

impl Examination<'_> {
    pub(super) async fn examine_clock(&self) -> Result<Finding, StoreError> {
        self.db.clock.forget();
        let asked = self.db.timer().stopwatch();
        let server = self.db.now(self.db.relay(), DOCTOR).await?;
        let (offset, trip) = (self.db.clock.local() - server, asked.elapsed());
        let detail = format!(
            "this machine is {:+.3} s off the server's clock (asked in {trip:?})",
            offset as f64 / 1e6
        );
        Ok(either(
            offset.unsigned_abs() < 5_000_000,
            good("clock", detail.clone()),
            warning("clock", format!("{detail}; leases are not affected, scheduled times are the server's")),
        ))
    }
}
