use std::{
    fs,
    path::{Path, PathBuf},
};

/// The workspace's source tree.
pub(super) struct Tree {
    root: PathBuf,
}

/// A file of the tree.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Where it stands, from the root, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

impl Tree {
    pub(super) fn of_workspace() -> Self {
        Self { root: Path::new(env!("CARGO_MANIFEST_DIR")).join("../..") }
    }

    /// One file.
    pub(super) fn file(&self, path: &str) -> File {
        let text = fs::read_to_string(self.root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        File { path: path.to_owned(), text }
    }

    /// The files under `folder` whose names end like this; at least `least`, or the tree is not what it should be.
    pub(super) fn files(&self, folder: &str, ending: &str, least: usize) -> Vec<File> {
        let mut files = Vec::new();
        self.collect(&self.root.join(folder), ending, &mut files);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let found = files.len();
        assert!(found >= least, "{folder} has {found} files that end in {ending}, there should be {least}");
        files
    }

    /// The files next to the workspace's manifest whose names end like this.
    pub(super) fn files_at_the_root(&self, ending: &str, least: usize) -> Vec<File> {
        let entries = fs::read_dir(&self.root).unwrap_or_else(|e| panic!("{}: {e}", self.root.display()));
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let wanted = paths.filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending));
        let files: Vec<_> = wanted.map(|path| self.read(&path)).collect();
        assert!(files.len() >= least, "the root has {} files that end in {ending}", files.len());
        files
    }

    /// Whether a file or a folder is there.
    pub(super) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Replaces the text of a file.
    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), text).unwrap_or_else(|e| panic!("{path}: {e}"));
    }

    /// The folder of the package that a file belongs to.
    pub(super) fn package_of(&self, path: &str) -> String {
        let folders = Path::new(path).ancestors().skip(1);
        let package = folders.into_iter().find(|folder| self.root.join(folder).join("Cargo.toml").exists());
        package.expect("the root has a manifest").to_string_lossy().into_owned()
    }

    /// What the manifest in this folder says of its package.
    pub(super) fn description_of(&self, package: &str) -> String {
        let manifest: toml::Table =
            self.file(&format!("{package}/Cargo.toml")).text.parse().expect("a manifest");
        manifest["package"]["description"].as_str().expect("a description").to_owned()
    }

    /// The Cargo manifests of all packages.
    pub(super) fn manifests(&self) -> Vec<File> {
        let folders = ["domain", "ports", "app", "adapters", "examples", "tests"];
        folders.into_iter().flat_map(|folder| self.files(folder, "Cargo.toml", 1)).collect()
    }

    fn collect(&self, folder: &Path, ending: &str, files: &mut Vec<File>) {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry").path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() && name != "target" {
                self.collect(&path, ending, files);
            } else if name.ends_with(ending) {
                files.push(self.read(&path));
            }
        }
    }

    fn read(&self, path: &Path) -> File {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let path = path.strip_prefix(&self.root).expect("a path under the root");
        File { path: path.to_string_lossy().replace('\\', "/"), text }
    }
}

impl File {
    /// The numbered lines of code: no comments, and nothing from the first test module on.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(n, line)| (n + 1, line));
        let tested = lines.take_while(|(_, line)| line.trim() != "#[cfg(test)]");
        tested.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The folder it stands in.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

#[cfg(test)]
impl File {
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_no_comments_and_no_tests() {
        let file =
            File::new("a/b.rs", "// one\nlet two;\n  /// three\nfour();\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!(file.code().collect::<Vec<_>>(), [(2, "let two;"), (4, "four();")]);
        assert_eq!(file.folder(), "a");
    }

    #[test]
    #[should_panic(expected = "there should be 9999")]
    fn a_tree_without_files_is_noticed() {
        Tree::of_workspace().files("domain", ".rs", 9999);
    }
}
