use std::collections::BTreeSet;

use super::{imports::Imports, tree::Tree};

/// Every file of a crate is a module of it.
pub(super) fn every_file_is_read(tree: &Tree) -> Vec<String> {
    let crates = crates(tree).into_iter();
    let complaints = crates.flat_map(|src| {
        let imports = Imports::of_crate(&src, &tree.files(&src, ".rs", 1));
        imports
            .undeclared()
            .map(|module| format!("{src}: no `mod` declares {}", module.join("/")))
            .collect::<Vec<_>>()
    });
    complaints.collect()
}

/// No two files of a crate name each other, directly or by way of others.
///
/// The crates of the tests are left out: there a module adds the cases of its children, which use its fixtures.
pub(super) fn there_are_none(tree: &Tree) -> Vec<String> {
    let crates = crates(tree).into_iter().filter(|src| !src.starts_with("tests/"));
    crates.filter_map(|src| complaint(&src, &Imports::of_crate(&src, &tree.files(&src, ".rs", 1)))).collect()
}

/// The source folders of all crates.
fn crates(tree: &Tree) -> BTreeSet<String> {
    let folders = tree.manifests().into_iter().map(|manifest| format!("{}/src", manifest.folder()));
    folders.filter(|src| tree.has(src)).collect()
}

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
