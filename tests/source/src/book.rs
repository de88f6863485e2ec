use super::{
    links::{Link, links_of, resolved},
    tree::{File, Tree},
};

/// mdBook renders the pages that the summary lists and nothing else: every page is listed, no link of a page leads out of the
/// book, and what a page includes is there.
pub(super) fn is_whole(tree: &Tree) -> Vec<String> {
    let pages = tree.files("docs", ".md", 15);
    let summary = pages.iter().find(|page| page.path == SUMMARY);
    let Some(summary) = summary else { return vec![format!("{SUMMARY} is missing")] };
    let listed: Vec<String> = links_of(summary).iter().map(leads_to).collect();
    let pages: Vec<&File> = pages.iter().filter(|page| page.path != SUMMARY).collect();
    let mut complaints = unlisted(&pages, &listed);
    complaints.extend(pages.iter().flat_map(|page| links_of(page)).filter_map(|link| leaves(&link, &listed)));
    complaints.extend(pages.iter().flat_map(|page| missing(page, |path| tree.has(path))));
    complaints
}

const SUMMARY: &str = "docs/SUMMARY.md";

fn leads_to(link: &Link) -> String {
    let file = link.target.split_once('#').map_or(&*link.target, |(file, _)| file);
    resolved(&link.page, file)
}

fn unlisted(pages: &[&File], listed: &[String]) -> Vec<String> {
    let unlisted = pages.iter().filter(|page| !listed.contains(&page.path));
    unlisted.map(|page| format!("{SUMMARY} does not list {}", page.path)).collect()
}

fn leaves(link: &Link, listed: &[String]) -> Option<String> {
    let path = leads_to(link);
    let Link { page, target } = link;
    (!listed.contains(&path)).then(|| {
        format!("{page}: {target} leads out of the book and is dead there; name `{path}` without a link, or include it in a page")
    })
}

fn missing(page: &File, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let included = page.text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}"));
    let paths = included.map(|(file, _)| resolved(&page.path, file.trim()));
    paths
        .filter(|path| !exists(path))
        .map(|path| format!("{}: there is no {path} to include", page.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complains_of_a_link_that_the_book_does_not_have() {
        let link =
            |target: &str| Link { page: "docs/inside/design/a.md".to_owned(), target: target.to_owned() };
        let listed = ["docs/b.md".to_owned(), "docs/inside/design/a.md".to_owned()];
        assert_eq!(leaves(&link("../../b.md#one"), &listed), None);
        assert_eq!(leaves(&link("#two"), &listed), None);
        let out = leaves(&link("../../../README.md#three"), &listed).unwrap();
        assert!(out.contains("name `README.md` without a link"), "{out}");
        assert!(leaves(&link("../unlisted.md"), &listed).is_some());
    }

    #[test]
    fn complains_of_a_page_that_is_not_listed_and_of_a_file_that_is_not_there() {
        let page = File::new("docs/a.md", "{{#include ../x.toml}} and {{#include ../y.toml}}");
        assert_eq!(unlisted(&[&page], &[]), ["docs/SUMMARY.md does not list docs/a.md"]);
        assert_eq!(missing(&page, |path| path == "x.toml"), ["docs/a.md: there is no y.toml to include"]);
    }
}
