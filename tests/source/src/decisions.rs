use super::tree::{File, Tree};

/// Every numbered decision has a number of its own, and DESIGN.md lists it.
pub(super) fn are_listed(tree: &Tree) -> Vec<String> {
    let decisions: Vec<_> = tree.files("docs", ".md", 15).iter().flat_map(decisions_of).collect();
    assert!(decisions.len() >= 100, "there are only {} decisions", decisions.len());
    complaints(&tree.file("DESIGN.md").text, &decisions)
}

/// A heading such as `## D8. Statements are files`.
#[derive(Debug, PartialEq)]
struct Decision {
    page: String,
    number: String,
    title: String,
}

fn decisions_of(page: &File) -> Vec<Decision> {
    let headings = page.text.lines().filter_map(|line| line.strip_prefix("## D")?.split_once(". "));
    let numbered = headings.filter(|(number, _)| number.bytes().all(|digit| digit.is_ascii_digit()));
    let decision = |(number, title): (&str, &str)| Decision {
        page: page.path.clone(),
        number: number.to_owned(),
        title: title.to_owned(),
    };
    numbered.map(decision).collect()
}

fn complaints(index: &str, decisions: &[Decision]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (n, Decision { page, number, title }) in decisions.iter().enumerate() {
        let row = format!("* D{number} [{title}]({page}#");
        if !index.lines().any(|line| line.starts_with(&row)) {
            complaints.push(format!("DESIGN.md: it does not list D{number}, {title}"));
        }
        if let Some(other) = decisions[..n].iter().find(|other| other.number == *number) {
            complaints.push(format!("{page}: D{number} is the number of a decision in {}, too", other.page));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_not_listed_and_numbers_that_come_twice() {
        let page =
            File::new("docs/inside/design/a.md", "# A\n\n## D1. One\n\ntext\n\n## D2. Two\n\n## Done\n");
        let decisions = decisions_of(&page);
        assert_eq!(decisions.len(), 2);
        let index =
            "* D1 [One](docs/inside/design/a.md#d1-one)\n* D2 [Two](docs/inside/design/a.md#d2-two)\n";
        assert!(complaints(index, &decisions).is_empty());
        let renamed = index.replace("[Two]", "[Zwei]");
        assert_eq!(complaints(&renamed, &decisions), ["DESIGN.md: it does not list D2, Two"]);
        let twice: Vec<_> = decisions_of(&page).into_iter().chain(decisions).collect();
        assert_eq!(complaints(index, &twice).len(), 2);
    }
}
