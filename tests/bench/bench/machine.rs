use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde::{Deserialize, Serialize};

/// The machine that everything runs on.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) processor: String,
    pub(crate) system: String,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let (memory, processor) = (fields(&text("/proc/meminfo")), fields(&text("/proc/cpuinfo")));
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: kib(&memory, "MemTotal")
                .map_or(0.0, |kib| (kib / 1024.0 / 1024.0 * 10.0).round() / 10.0),
            processor: processor.get("model name").cloned().unwrap_or_else(|| "unknown".into()),
            system: text("/proc/version").split(' ').take(3).collect::<Vec<_>>().join(" "),
        }
    }
}

/// Memory of this process that is resident, in MiB; 0 where it cannot be read.
pub(crate) fn resident_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    kib(&fields(&status), "VmRSS").unwrap_or_default() / 1024.0
}

/// The commit that is measured, with a mark if the tree has changed since; none outside a repository.
pub(crate) fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    Some(if changed { format!("{commit} with changes") } else { commit })
}

fn fields(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

fn kib(fields: &BTreeMap<String, String>, name: &str) -> Option<f64> {
    fields.get(name)?.trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_a_field_has_a_value() {
        assert!(resident_mib() > 0.0);
        assert_eq!(kib(&fields("MemTotal:       2048 kB\n"), "MemTotal"), Some(2048.0));
    }
}
