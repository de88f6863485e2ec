use crate::name::name;

name! {
    /// The name of a kind of events; it is stored with each event, so it must not change.
    SchemeName, "scheme name", others: "-_.", "use ASCII letters, digits, '-', '_' and '.'"
}

name! {
    /// The name of a decision within its scheme; it is stored with each result, so it must not change.
    DecisionName, "decision name", others: "-_.", "use ASCII letters, digits, '-', '_' and '.'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Invalid;

    #[test]
    fn refuses_what_a_key_could_be_misread_by() {
        assert_eq!(SchemeName::new(""), Err(Invalid::Empty { what: "scheme name" }));
        assert!(matches!(SchemeName::new("a/b"), Err(Invalid::Character { found: '/', .. })));
        assert!(matches!(DecisionName::new("größe"), Err(Invalid::Character { found: 'ö', .. })));
        assert!(matches!(DecisionName::new(&"d".repeat(65)), Err(Invalid::TooLong { len: 65, .. })));
        let name = SchemeName::new("monthly-bill_1.0").unwrap();
        let json = serde_json::to_string(&name).unwrap();
        assert_eq!((json.as_str(), serde_json::from_str(&json).unwrap()), ("\"monthly-bill_1.0\"", name));
        assert!(serde_json::from_str::<SchemeName>("\"a b\"").is_err());
    }
}
