use std::collections::{BTreeMap, BTreeSet};

use super::{imports::Imports, tree::Tree};

/// The pictures of ARCHITECTURE.md show which folder of a crate imports which: an import leads to a folder that the arrows lead to, every arrow
/// stands for an import, and no arrows lead back.
pub(super) fn stand_as_drawn(tree: &Tree) -> Vec<String> {
    let page = &tree.file("ARCHITECTURE.md").text;
    let rooms = [
        ("app/outbox/src", "## Inside the outbox"),
        ("adapters/sea-orm/src", "## Inside the sea-orm adapter"),
    ];
    let of = |(src, heading): (&str, &str)| {
        let imports = Imports::of_crate(src, &tree.files(src, ".rs", 50));
        let arrows = arrows(page, heading);
        assert!(arrows.len() >= 10, "{heading}: the picture has {} arrows", arrows.len());
        complaints(&arrows, &between_folders(&imports))
    };
    rooms.into_iter().flat_map(of).collect()
}

/// Names of two folders, of which the first imports the second.
type Edge = (String, String);

fn complaints(arrows: &BTreeSet<Edge>, imports: &BTreeMap<Edge, String>) -> Vec<String> {
    let undrawn =
        imports.iter().filter(|((from, to), _)| !leads(arrows, from, to)).map(|((from, to), file)| {
            format!("{file} imports {to}, and no arrow of the picture leads from {from} to {to}")
        });
    let empty = arrows.iter().filter(|arrow| !imports.contains_key(arrow));
    let empty = empty.map(|(from, to)| format!("the arrow from {from} to {to} stands for no import"));
    let back = arrows.iter().filter(|(from, to)| leads(arrows, to, from));
    let back = back.map(|(from, to)| format!("the arrow from {from} to {to} closes a circle"));
    undrawn.chain(empty).chain(back).collect()
}

fn leads(arrows: &BTreeSet<Edge>, from: &str, to: &str) -> bool {
    let mut reached = BTreeSet::from([from]);
    loop {
        let next =
            arrows.iter().filter(|(start, _)| reached.contains(start.as_str())).map(|(_, end)| end.as_str());
        let more: Vec<_> = next.filter(|end| !reached.contains(end)).collect();
        if more.contains(&to) {
            return true;
        }
        if more.is_empty() {
            return false;
        }
        reached.extend(more);
    }
}

/// The imports that lead from one folder at the top to another, with a file that has it.
fn between_folders(imports: &Imports) -> BTreeMap<Edge, String> {
    let pairs = imports.pairs().filter_map(|(from, to)| {
        let edge = (from.first()?.clone(), to.first()?.clone());
        (edge.0 != edge.1).then(|| (edge, from.join("/")))
    });
    pairs.collect()
}

/// The arrows of the page's picture: `a & b[label] --> c & d`, and `a --> b --> c`.
fn arrows(page: &str, heading: &str) -> BTreeSet<Edge> {
    let section = page.split(heading).nth(1).expect("a section on the crate");
    let picture = section.split("```").nth(1).expect("a picture of the crate");
    let mut arrows = BTreeSet::new();
    for line in picture.lines() {
        let groups: Vec<Vec<&str>> =
            line.split("-->").map(|group| group.split('&').map(name).collect()).collect();
        for step in groups.windows(2) {
            let pairs = step[0].iter().flat_map(|from| step[1].iter().map(move |to| (*from, *to)));
            arrows.extend(pairs.map(|(from, to)| (from.to_owned(), to.to_owned())));
        }
    }
    arrows
}

fn name(node: &str) -> &str {
    node.split('[').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str) -> Edge {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn reads_the_arrows_of_the_picture() {
        let page = "## Inside\n```mermaid\nflowchart TD\n a[the top] --> b & c --> d\n```\n";
        let expected = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")].map(|(from, to)| edge(from, to));
        assert_eq!(arrows(page, "## Inside"), BTreeSet::from(expected));
    }

    #[test]
    fn complains_about_what_is_not_drawn_what_stands_for_nothing_and_circles() {
        let arrows = BTreeSet::from([edge("a", "b"), edge("b", "c")]);
        let of = |edges: &[Edge]| {
            let imports = edges.iter().map(|edge| (edge.clone(), format!("{}/file", edge.0))).collect();
            complaints(&arrows, &imports)
        };
        assert!(of(&[edge("a", "b"), edge("b", "c"), edge("a", "c")]).is_empty());
        let back = of(&[edge("a", "b"), edge("b", "c"), edge("c", "a")]);
        assert_eq!(back, ["c/file imports a, and no arrow of the picture leads from c to a"]);
        assert_eq!(of(&[edge("a", "b")]), ["the arrow from b to c stands for no import"]);
        let round = BTreeSet::from([edge("a", "b"), edge("b", "a")]);
        let imports = BTreeMap::from([(edge("a", "b"), String::new()), (edge("b", "a"), String::new())]);
        assert_eq!(complaints(&round, &imports).len(), 2);
    }
}
