use std::collections::BTreeSet;

use super::{imports::Imports, tree::Tree};

/// No two files of a crate name each other, directly or by way of others.
pub(super) fn there_are_none(tree: &Tree) -> Vec<String> {
    let manifests = tree.manifests();
    let crates: BTreeSet<String> =
        manifests.iter().map(|manifest| format!("{}/src", manifest.folder())).collect();
    let crates = crates.into_iter().filter(|src| tree.has(src) && !OPEN.contains(&src.as_str()));
    crates.filter_map(|src| complaint(&src, &Imports::of_crate(&src, &tree.files(&src, ".rs", 1)))).collect()
}

/// Crates that still have such files.
const OPEN: [&str; 2] = ["adapters/sea-orm/src", "tests/src"];

fn complaint(src: &str, imports: &Imports) -> Option<String> {
    let circle: Vec<_> = imports.in_circles().into_iter().map(|module| module.join("::")).collect();
    (!circle.is_empty()).then(|| format!("{src}: these files import each other: {}", circle.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{super::tree::File, *};

    #[test]
    fn complains_about_two_files_that_import_each_other() {
        let file = |name: &str, text: &str| File::new(&format!("a/src/{name}.rs"), text);
        let of = |b: &str| {
            let files = [file("lib", ""), file("b", b), file("c", "use crate::b::B;")];
            complaint("a/src", &Imports::of_crate("a/src", &files))
        };
        assert_eq!(of(""), None);
        assert_eq!(of("use crate::c::C;").unwrap(), "a/src: these files import each other: b, c");
    }
}
