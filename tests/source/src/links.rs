use super::tree::{File, Tree};

/// Every relative link of a Markdown file leads to a file of the tree, and to a heading if it names one.
pub(super) fn lead_somewhere(tree: &Tree) -> Vec<String> {
    let mut pages = tree.files_at_the_root(".md", 5);
    pages.extend(tree.files("docs", ".md", 15));
    for folder in ["domain", "ports", "app", "adapters"] {
        pages.extend(tree.files(folder, ".md", 1));
    }
    let links: Vec<_> = pages.iter().flat_map(links_of).collect();
    assert!(links.len() >= 100, "the documents have only {} links", links.len());
    let complaint = |link: &Link| follow(link, &pages, |path| tree.has(path)).err();
    links.iter().filter_map(complaint).collect()
}

/// A link to somewhere in the tree.
#[derive(Debug, PartialEq)]
pub(super) struct Link {
    pub(super) page: String,
    pub(super) target: String,
}

fn follow(link: &Link, pages: &[File], exists: impl Fn(&str) -> bool) -> Result<(), String> {
    let Link { page, target } = link;
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = resolved(page, file);
    if !exists(&path) {
        return Err(format!("{page}: nothing is at {path}, which {target} names"));
    }
    let known = |found: &File| headings(&found.text).any(|known| known == heading);
    match pages.iter().find(|found| found.path == path) {
        Some(found) if !heading.is_empty() && !known(found) => {
            Err(format!("{page}: {path} has no heading #{heading}"))
        }
        _ => Ok(()),
    }
}

pub(super) fn links_of(page: &File) -> Vec<Link> {
    let rest = page.text.split("](").skip(1);
    let targets = rest.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let inside = targets.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace));
    inside.map(|target| Link { page: page.path.clone(), target: target.to_owned() }).collect()
}

/// Where a link leads, from the root.
pub(super) fn resolved(page: &str, file: &str) -> String {
    if file.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<_> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The headings of a page as forges name them in links.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    titles.map(|title| {
        let kept = title.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_inside_the_tree() {
        let page = File::new("docs/a.md", "[b](b.md#one) and [c](https://example.com) `f](x y)`");
        assert_eq!(links_of(&page), [Link { page: "docs/a.md".to_owned(), target: "b.md#one".to_owned() }]);
    }

    #[test]
    fn complains_of_a_link_that_leads_nowhere() {
        let pages =
            [File::new("docs/a.md", "# A page\n"), File::new("README.md", "## What is `kept`, and why\n")];
        let follow = |target: &str| {
            let link = Link { page: "docs/a.md".to_owned(), target: target.to_owned() };
            follow(&link, &pages, |path| pages.iter().any(|page| page.path == path))
        };
        assert!(follow("../README.md#what-is-kept-and-why").is_ok());
        assert!(follow("#a-page").is_ok());
        assert_eq!(follow("b.md").unwrap_err(), "docs/a.md: nothing is at docs/b.md, which b.md names");
        assert_eq!(follow("../README.md#no").unwrap_err(), "docs/a.md: README.md has no heading #no");
    }
}
