/// A setting of a session that changes what a statement means, or whether the server takes it.
///
/// The sessions that the outbox opens set all of them (`session/setup.mysql.sql`); those of a pool that a service hands in are
/// checked.
pub(crate) struct SessionSetting {
    /// As `SHOW VARIABLES` names it.
    pub(crate) name: &'static str,
    /// The value that every session should have, as the server shows it.
    pub(crate) value: &'static str,
    /// What happens with another value.
    pub(crate) otherwise: &'static str,
    /// Whether the few statements of callers depend on it: enqueues, steps and the end of a transaction.
    pub(crate) matters_to_callers: bool,
}

const fn setting(
    name: &'static str,
    value: &'static str,
    otherwise: &'static str,
    matters_to_callers: bool,
) -> SessionSetting {
    SessionSetting { name, value, otherwise, matters_to_callers }
}

impl SessionSetting {
    /// Those that have one right value; the modes of `sql_mode` are in [`unfit_mode`].
    pub(crate) const ALL: [Self; 7] = [
        setting("autocommit", "ON", "statements outside a transaction are rolled back", true),
        setting(
            "completion_type",
            "NO_CHAIN",
            "a COMMIT begins a transaction or closes the connection",
            true,
        ),
        setting("sql_auto_is_null", "OFF", "a comparison with NULL finds a row that was just inserted", true),
        setting("sql_big_selects", "ON", "a statement that may read many rows is refused", false),
        setting("sql_safe_updates", "OFF", "a statement that changes many rows is refused", false),
        setting("sql_select_limit", "18446744073709551615", "a SELECT leaves rows out", true),
        setting("unique_checks", "ON", "a second row with the same key may be stored", true),
    ];

    /// Whether a session has the value; a setting that the server does not have needs none.
    pub(crate) fn holds<'a>(&self, read: impl Fn(&str) -> &'a str) -> bool {
        let value = read(self.name);
        value.is_empty() || value == self.value
    }

    /// What is wrong, and the statement that mends it.
    pub(crate) fn refusal<'a>(&self, read: impl Fn(&str) -> &'a str) -> String {
        let Self { name, value, otherwise, .. } = self;
        let set = if *value == "NO_CHAIN" { "0" } else { value };
        format!("{name} is {}, so {otherwise}; SET {name} = {set} there", read(name))
    }
}

/// Says what is wrong with an `sql_mode`: it is not strict, or it changes how values or statements are read.
pub(crate) fn unfit_mode(sql_mode: &str) -> Option<&'static str> {
    let has = |mode| sql_mode.split(',').any(|set| set == mode);
    if !has("STRICT_TRANS_TABLES") && !has("STRICT_ALL_TABLES") {
        return Some("is not strict, so what is too long would be cut; add STRICT_TRANS_TABLES");
    }
    if has("EMPTY_STRING_IS_NULL") {
        return Some("has EMPTY_STRING_IS_NULL, so an empty text would be stored as NULL; remove it");
    }
    has("ORACLE").then_some("has ORACLE, which reads statements by another grammar; remove it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{dialect::Dialect, statements::Statements};

    #[test]
    fn every_setting_is_set_when_a_session_begins() {
        let setup = Statements::of(Dialect::MySql).session.setup.text();
        for setting in &SessionSetting::ALL {
            assert!(setup.contains(&format!("SESSION {} =", setting.name)), "{}", setting.name);
        }
        let mode = setup.split("sql_mode = '").nth(1).and_then(|rest| rest.split('\'').next());
        assert_eq!(unfit_mode(mode.expect("a mode")), None);
    }

    #[test]
    fn another_value_is_refused_with_the_statement_that_mends_it() {
        let chain = SessionSetting::ALL.iter().find(|setting| setting.name == "completion_type").expect("it");
        assert!(!chain.holds(|_| "CHAIN") && chain.holds(|_| "NO_CHAIN") && chain.holds(|_| ""));
        assert!(chain.refusal(|_| "CHAIN").ends_with("SET completion_type = 0 there"));
    }

    #[test]
    fn modes_are_compared_as_words() {
        assert!(unfit_mode("ANSI_QUOTES").is_some_and(|why| why.contains("STRICT_TRANS_TABLES")));
        assert!(unfit_mode("STRICT_ALL_TABLES,EMPTY_STRING_IS_NULL").is_some());
        assert!(unfit_mode("PIPES_AS_CONCAT,ORACLE,STRICT_ALL_TABLES").is_some());
        assert_eq!(unfit_mode("STRICT_TRANS_TABLES,PIPES_AS_CONCAT"), None);
    }
}
