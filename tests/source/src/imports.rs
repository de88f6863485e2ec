use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Item, ItemMod, Macro, Path, UseTree, Visibility,
    visit::{self, Visit},
};

use super::tree::File;

/// The modules of one crate, each a file, and the modules that each of them names. What only tests name does not count.
pub(super) struct Imports {
    of: BTreeMap<Module, BTreeSet<Module>>,
    declared: BTreeSet<Module>,
}

/// The path of a module from the crate's root; the root itself is empty.
pub(super) type Module = Vec<String>;

impl Imports {
    /// Reads the files of a crate, whose modules stand under `src`.
    pub(super) fn of_crate(src: &str, files: &[File]) -> Self {
        let root = root(src, files);
        let module_of = |file| module(src, root, file);
        let mut read: BTreeMap<Module, Reader> =
            files.iter().map(|file| (module_of(file), Reader::read(module_of(file), file))).collect();
        let for_tests: Vec<Module> = read.values().flat_map(|reader| reader.test_modules.clone()).collect();
        read.retain(|module, _| !for_tests.iter().any(|tests| module.starts_with(tests)));
        let named = |(module, reader): (&Module, &Reader)| {
            let named = reader.paths.iter().filter_map(|path| home(&read, path.clone()));
            (module.clone(), named.filter(|named| named != module).collect())
        };
        let declared = read.iter().flat_map(|(module, reader)| {
            reader.children.iter().map(move |child| [&module[..], std::slice::from_ref(child)].concat())
        });
        Self { of: read.iter().map(named).collect(), declared: declared.collect() }
    }

    /// Each pair of a module and a module that it names.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&Module, &Module)> {
        self.of.iter().flat_map(|(module, named)| named.iter().map(move |named| (module, named)))
    }

    /// The files that no other file declares as a module: the compiler does not read them.
    pub(super) fn undeclared(&self) -> impl Iterator<Item = &Module> {
        self.of.keys().filter(|module| match module.split_last() {
            Some((name, parent)) => {
                name != "main" && !self.declared.contains(&[parent, std::slice::from_ref(name)].concat())
            }
            None => false,
        })
    }

    /// The modules that name each other in a circle, and those between two circles.
    pub(super) fn in_circles(&self) -> BTreeSet<&Module> {
        let mut left: BTreeSet<&Module> = self.of.keys().collect();
        loop {
            let goes_on = |module: &&Module| self.of[*module].iter().any(|named| left.contains(named));
            let is_named = |module: &&Module| left.iter().any(|other| self.of[*other].contains(*module));
            let kept: BTreeSet<_> =
                left.iter().copied().filter(|module| goes_on(module) && is_named(module)).collect();
            if kept.len() == left.len() {
                return left;
            }
            left = kept;
        }
    }
}

/// The file that a crate begins with: that of its library, or of its program if it has no library.
fn root(src: &str, files: &[File]) -> &'static str {
    let has_library = files.iter().any(|file| file.path == format!("{src}/lib.rs"));
    if has_library { "lib" } else { "main" }
}

fn module(src: &str, root: &str, file: &File) -> Module {
    let place = file.path.trim_start_matches(src).trim_start_matches('/').trim_end_matches(".rs");
    let mut module: Module = place.split('/').map(str::to_owned).collect();
    if place == root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// The module in which the thing at `path` is written; a name that a module passes on is followed.
fn home(read: &BTreeMap<Module, Reader>, path: Module) -> Option<Module> {
    let known = (0..=path.len()).rev().find(|length| read.contains_key(&path[..*length]))?;
    let (module, rest) = path.split_at(known);
    let passed_on = rest.first().and_then(|name| read[module].passed_on.get(name));
    match passed_on {
        Some(origin) => home(read, [origin, &rest[1..]].concat()),
        None => Some(module.to_vec()),
    }
}

/// Collects the paths into the same crate.
struct Reader {
    module: Module,
    paths: Vec<Module>,
    /// The names that it passes on (`pub use`), and where they come from.
    passed_on: BTreeMap<String, Module>,
    /// The modules that it declares.
    children: BTreeSet<String>,
    /// The modules that it declares for tests only.
    test_modules: Vec<Module>,
}

impl Reader {
    fn read(module: Module, file: &File) -> Self {
        let syntax = syn::parse_file(&file.text).unwrap_or_else(|e| panic!("{}: {e}", file.path));
        let mut reader = Self {
            module,
            paths: Vec::new(),
            passed_on: BTreeMap::new(),
            children: children(&syntax),
            test_modules: Vec::new(),
        };
        reader.visit_file(&syntax);
        reader
    }

    fn note(&mut self, path: &[String]) {
        self.paths.extend(self.place(path));
    }

    /// The path from the crate's root, if it leads into this crate; it may begin with a module that is declared here.
    fn place(&self, path: &[String]) -> Option<Module> {
        let start = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.module.clone(),
            first if self.children.contains(first) => self.module.clone(),
            _ => return None,
        };
        Some(path.iter().fold(start, |mut place, name| {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => drop(place.pop()),
                name => place.push(name.to_owned()),
            }
            place
        }))
    }
}

/// The paths of an import, each with the name it gets.
fn leaves(before: &[String], tree: &UseTree) -> Vec<(Module, String)> {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => leaves(&with(&path.ident), &path.tree),
        UseTree::Name(name) => vec![(with(&name.ident), name.ident.to_string())],
        UseTree::Rename(rename) => vec![(with(&rename.ident), rename.rename.to_string())],
        UseTree::Glob(_) => vec![(before.to_vec(), "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| leaves(before, tree)).collect(),
    }
}

/// The modules that a file declares.
fn children(file: &syn::File) -> BTreeSet<String> {
    let modules = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    modules.collect()
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(inner) if is_for_tests(item) => {
                self.test_modules.push([&self.module[..], &[inner.ident.to_string()]].concat());
            }
            item if is_for_tests(item) => {}
            item => visit::visit_item(self, item),
        }
    }

    fn visit_item_mod(&mut self, inner: &'ast ItemMod) {
        self.module.push(inner.ident.to_string());
        visit::visit_item_mod(self, inner);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_private = matches!(item.vis, Visibility::Inherited);
        for (path, name) in leaves(&[], &item.tree) {
            let Some(origin) = self.place(&path) else { continue };
            self.paths.push(origin.clone());
            if !is_private {
                self.passed_on.insert(name, origin);
            }
        }
    }

    /// `pub(super)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let text = call.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
        for word in words.filter(|word| word.contains("::")) {
            self.note(&word.split("::").map(str::to_owned).collect::<Vec<_>>());
        }
        visit::visit_macro(self, call);
    }
}

fn is_for_tests(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        let has = |wanted: &str| condition.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
        has("test") && !has("not")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Imports {
        let files: Vec<_> =
            files.iter().map(|(path, text)| File::new(&format!("a/src/{path}"), text)).collect();
        Imports::of_crate("a/src", &files)
    }

    fn pairs(imports: &Imports) -> Vec<(String, String)> {
        imports.pairs().map(|(one, other)| (one.join("::"), other.join("::"))).collect()
    }

    #[test]
    fn follows_imports_paths_and_macros_to_the_file_they_lead_to() {
        let files = [
            ("lib.rs", "mod b; mod c; pub use b::d::D as Passed;"),
            ("b/mod.rs", "use self::d::D; fn f() { row!(crate::c::X) }"),
            ("b/d.rs", "use crate::c::{self, Y}; use std::fmt; fn f() -> super::e::E {}"),
            ("b/e.rs", "mod inner { use super::super::d::D; }"),
            ("c.rs", "pub(super) struct S;\n#[cfg(test)]\nmod tests { use crate::b::d::D; }"),
            ("f.rs", "use crate::Passed;"),
        ];
        let found = pairs(&imports(&files));
        let expected = [
            ("", "b::d"),
            ("b", "b::d"),
            ("b", "c"),
            ("b::d", "b::e"),
            ("b::d", "c"),
            ("b::e", "b::d"),
            ("f", "b::d"),
        ];
        assert_eq!(found, expected.map(|(one, other)| (one.to_owned(), other.to_owned())));
    }

    fn in_circles(files: &[(&str, &str)]) -> String {
        let imports = imports(files);
        let found: Vec<_> = imports.in_circles().into_iter().map(|module| module.join("::")).collect();
        found.join(" ")
    }

    #[test]
    fn finds_what_stands_in_a_circle() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::{b::B, d::D};"),
            ("d.rs", ""),
        ];
        assert_eq!(in_circles(&files), "b c");
    }

    #[test]
    fn a_name_that_is_passed_on_or_a_path_to_a_child_closes_a_circle_too() {
        let child = ("a/b.rs", "use super::A; pub struct B;");
        assert_eq!(in_circles(&[("a/mod.rs", "mod b; pub use b::B; pub struct A;"), child]), "a a::b");
        assert_eq!(in_circles(&[("a/mod.rs", "mod b; pub struct A; fn f() { b::g() }"), child]), "a a::b");
        assert_eq!(
            in_circles(&[
                ("lib.rs", "mod a; use self::a::A; pub struct R;"),
                ("main.rs", ""),
                ("a.rs", "use crate::R;")
            ]),
            " a"
        );
    }

    #[test]
    fn finds_a_file_that_is_not_declared() {
        let files =
            [("lib.rs", "mod a;"), ("a/mod.rs", "mod b;"), ("a/b.rs", ""), ("a/c.rs", ""), ("main.rs", "")];
        let imports = imports(&files);
        assert_eq!(imports.undeclared().map(|module| module.join("::")).collect::<Vec<_>>(), ["a::c"]);
    }
}
