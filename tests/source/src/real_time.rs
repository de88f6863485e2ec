use super::tree::{File, Tree};

/// Nothing but a timer reads real time or waits for it: the product goes by the port `Timer`, and tests turn one by hand.
///
/// `real_time.txt` lists the files that still do, each under its reason. It may only shrink: an entry that is not needed is
/// refused too.
pub(super) fn is_left_to_timers(tree: &Tree) -> Vec<String> {
    let folders = [("domain", 50), ("ports", 20), ("app", 100), ("adapters", 300), ("tests", 200)];
    let files: Vec<File> =
        folders.into_iter().flat_map(|(folder, least)| tree.files(folder, ".rs", least)).collect();
    complaints(&files, &exceptions(include_str!("real_time.txt")))
}

/// What code of the product does not use.
const OF_PRODUCT: [&str; 6] =
    ["Instant::now", "SystemTime::now", "tokio::time", "time::sleep", "time::timeout", "thread::sleep"];

/// What tests do not use. They may end one that is stuck by a limit that no sound run comes near.
const OF_TESTS: [&str; 4] = ["Instant::now", "time::sleep", "thread::sleep", "elapsed() <"];

fn complaints(files: &[File], exceptions: &[&str]) -> Vec<String> {
    let (mut complaints, mut needed) = (Vec::new(), vec![false; exceptions.len()]);
    for file in files {
        let uses = uses(file);
        let covers = |exception: &&str| match exception.ends_with('/') {
            true => file.path.starts_with(*exception),
            false => file.path == **exception,
        };
        match (exceptions.iter().position(covers), uses.is_empty()) {
            (_, true) => {}
            (Some(exception), false) => needed[exception] = true,
            (None, false) => complaints.extend(uses),
        }
    }
    let stale = exceptions.iter().zip(needed).filter(|(_, is_needed)| !is_needed);
    complaints
        .extend(stale.map(|(path, _)| format!("{path} uses no real time; remove its line of real_time.txt")));
    complaints
}

/// The entries: a file, or a folder that ends in a slash. Lines that begin with `#` say why those after them are there.
fn exceptions(list: &str) -> Vec<&str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn uses(file: &File) -> Vec<String> {
    let product: usize = if is_of_tests(&file.path) { 0 } else { file.code().last().map_or(0, |(n, _)| n) };
    let lines = file.text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
    let words = |n| if n <= product { &OF_PRODUCT[..] } else { &OF_TESTS[..] };
    let used = lines.flat_map(|(line, n)| {
        let code: String = line.split('"').step_by(2).collect();
        let used = words(n).iter().filter(move |word| code.contains(**word));
        used.map(move |word| format!("{}:{n} has {word:?}: {}", file.path, line.trim()))
    });
    used.collect()
}

fn is_of_tests(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(path: &str, text: &str) -> usize {
        uses(&File::new(path, text)).len()
    }

    #[test]
    fn finds_real_time_in_the_product_and_in_tests() {
        for line in ["let at = Instant::now();", "thread::sleep(WAIT);", "tokio::time::sleep(WAIT).await;"] {
            assert!(used("app/x/src/y.rs", line) > 0 && used("app/x/tests/y.rs", line) > 0, "{line}");
        }
        assert_eq!(used("app/x/src/y.rs", "use tokio::{sync::Notify, time::timeout};"), 1);
        let limit = "timeout(WAIT, asked)";
        assert_eq!(used("app/x/src/y.rs", &format!("tokio::time::{limit}")), 2);
        assert_eq!(used("app/x/src/y.rs", &format!("f();\n#[cfg(test)]\ntokio::time::{limit}")), 0);
        assert_eq!(used("app/x/src/tests.rs", "assert!(began.elapsed() < WAIT);"), 1);
        assert_eq!(used("app/x/src/y.rs", "// Instant::now\nlet word = \"thread::sleep\";"), 0);
    }

    #[test]
    fn an_entry_covers_its_file_or_folder_and_is_refused_when_it_is_not_needed() {
        let files = [File::new("a/x.rs", "Instant::now()"), File::new("b/c/y.rs", "thread::sleep(a)")];
        assert_eq!(complaints(&files, &exceptions("# why\na/x.rs\nb/\n")), Vec::<String>::new());
        assert_eq!(complaints(&files, &["a/x.rs"]).len(), 1);
        assert_eq!(complaints(&files, &["a/x.rs", "b/", "c/z.rs"]).len(), 1);
    }
}
