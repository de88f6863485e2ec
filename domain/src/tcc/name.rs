use crate::name::name;

name! {
    /// The identity of a global transaction, chosen by the caller and never used again.
    GlobalId, "global transaction id", others: "-_.:", "use ASCII letters, digits, '-', '_', '.' and ':'"
}

name! {
    /// The identity of a branch within its global transaction.
    BranchName, "branch name", others: "-_.:", "use ASCII letters, digits, '-', '_', '.' and ':'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Invalid;

    #[test]
    fn refuses_what_a_header_or_a_key_could_not_carry() {
        assert!(GlobalId::new("order-7:2026.11_a").is_ok() && BranchName::new(&"b".repeat(64)).is_ok());
        assert_eq!(GlobalId::new(""), Err(Invalid::Empty { what: "global transaction id" }));
        assert!(matches!(BranchName::new(&"b".repeat(65)), Err(Invalid::TooLong { len: 65, .. })));
        for bad in ["a/b", "a b", "a\r\nb", "größe", "a "] {
            assert!(matches!(GlobalId::new(bad), Err(Invalid::Character { .. })), "{bad:?}");
        }
        assert!(serde_json::from_str::<BranchName>("\"a/b\"").is_err());
    }
}
