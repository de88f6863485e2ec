use toml::{Table, Value};

use super::tree::{File, Tree};

/// The manifest of every crate that is published says all that a registry shows, and the crate's README, which is
/// compiled, shows the dependency and every feature.
pub(super) fn are_complete(tree: &Tree) -> Vec<String> {
    let manifests = tree.manifests();
    let published: Vec<_> = manifests.iter().filter(|manifest| is_published(&table(manifest))).collect();
    assert!(published.len() >= 10, "only {} packages are published", published.len());
    published.into_iter().flat_map(|manifest| incomplete(manifest, |path| text(tree, path))).collect()
}

fn text(tree: &Tree, path: &str) -> Option<String> {
    tree.has(path).then(|| tree.file(path).text)
}

fn table(manifest: &File) -> Table {
    manifest.text.parse().unwrap_or_else(|e| panic!("{}: {e}", manifest.path))
}

fn is_published(manifest: &Table) -> bool {
    manifest["package"].get("publish").and_then(Value::as_bool) != Some(false)
}

/// What a registry shows of a package, or needs to build its documentation.
const SHOWN: [&str; 9] = [
    "description",
    "version",
    "edition",
    "rust-version",
    "license",
    "readme",
    "keywords",
    "categories",
    "metadata",
];

fn incomplete(manifest: &File, text: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let (folder, manifest) = (manifest.folder(), table(manifest));
    let package = &manifest["package"];
    let mut complaints = Vec::new();
    let absent = SHOWN.iter().filter(|field| package.get(**field).is_none());
    complaints.extend(absent.map(|field| format!("the manifest has no {field}")));
    let keywords = package.get("keywords").and_then(Value::as_array).map_or(0, Vec::len);
    if keywords > 5 {
        complaints.push(format!("a registry takes 5 keywords, and there are {keywords}"));
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        if text(&format!("{folder}/{licence}")).is_none() {
            complaints.push(format!("there is no {licence}"));
        }
    }
    let readme = text(&format!("{folder}/README.md")).unwrap_or_default();
    let name = package["name"].as_str().unwrap_or_default();
    if !readme.lines().any(|line| line.starts_with(&format!("{name} = "))) {
        complaints.push(format!("the README does not show the dependency {name}"));
    }
    let features = manifest.get("features").and_then(Value::as_table).into_iter().flat_map(Table::keys);
    let unknown = features
        .filter(|name| *name != "default" && !readme.contains(&format!("\n| `{name}` | ")))
        .map(|name| format!("the README has no row for the feature {name}"));
    complaints.extend(unknown);
    let library = text(&format!("{folder}/src/lib.rs")).unwrap_or_default();
    if !library.contains("#[doc = include_str!(\"../README.md\")]") {
        complaints.push("src/lib.rs does not compile the README".to_owned());
    }
    complaints.into_iter().map(|complaint| format!("{folder}: {complaint}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\ndescription = \"A\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
        rust-version = \"1.94\"\nlicense = \"MIT\"\nreadme = \"README.md\"\nkeywords = [\"a\"]\ncategories = [\"b\"]\n\
        metadata = {}\n[features]\ntls = []\n";

    fn of(manifest: &str, readme: &str) -> Vec<String> {
        let text = |path: &str| match path {
            "x/README.md" => Some(readme.to_owned()),
            "x/src/lib.rs" => Some("#[doc = include_str!(\"../README.md\")]\n".to_owned()),
            _ => Some(String::new()),
        };
        incomplete(&File::new("x/Cargo.toml", manifest), text)
    }

    #[test]
    fn finds_each_thing_that_a_package_lacks() {
        let readme = "a = \"1.0\"\n\n| `tls` | no | TLS |\n";
        assert_eq!(of(MANIFEST, readme), Vec::<String>::new());
        assert_eq!(of(&MANIFEST.replace("description", "other"), readme).len(), 1);
        assert_eq!(
            of(&MANIFEST.replace("[\"a\"]", "[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\"]"), readme).len(),
            1
        );
        assert_eq!(of(MANIFEST, "a = \"1.0\"\n"), ["x: the README has no row for the feature tls"]);
        assert_eq!(
            of(MANIFEST, "\n| `tls` | no | TLS |\n"),
            ["x: the README does not show the dependency a"]
        );
        assert_eq!(incomplete(&File::new("x/Cargo.toml", MANIFEST), |_| None).len(), 5);
    }

    #[test]
    fn a_crate_that_is_not_published_is_left_alone() {
        let published = |text: &str| is_published(&table(&File::new("x/Cargo.toml", text)));
        assert!(published(MANIFEST) && !published("[package]\nname = \"a\"\npublish = false\n"));
    }
}
