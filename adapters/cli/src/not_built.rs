/// Why something cannot be configured that this program was built without, and which feature brings it.
pub(crate) fn not_built(what: &str, feature: &str) -> String {
    format!(
        "this program was built without {what}; install it with that, in a checkout by `cargo install --path adapters/cli --features {feature}`"
    )
}
