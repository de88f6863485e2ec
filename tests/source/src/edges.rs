use toml::{Table, Value};

use super::tree::{File, Tree};

/// `app -> ports -> domain`, `adapters -> ports, domain` and tokio's timer; only composition roots name both sides, and only adapters know
/// a driver or a runtime.
pub(super) fn dependencies_point_inwards(tree: &Tree) -> Vec<String> {
    let manifests = tree.manifests();
    assert!(manifests.len() >= 8, "only {} packages were found", manifests.len());
    manifests.iter().flat_map(complaints).collect()
}

const DOMAIN: &str = "claimstream-domain";
const PORTS: &str = "claimstream-ports";
const OUTBOX: &str = "claimstream";
const TOKIO: &str = "claimstream-tokio";

/// What belongs to a driver or a runtime.
const OUTSIDE: [&str; 9] =
    ["sea-orm", "sqlx", "tokio", "smol", "async-std", "async-io", "redis", "reqwest", "async-nats"];

fn complaints(manifest: &File) -> Vec<String> {
    let folder = manifest.folder();
    let table: Table = manifest.text.parse().unwrap_or_else(|e| panic!("{}: {e}", manifest.path));
    let Some(allowed) = allowed(folder) else {
        return vec![format!("{folder}: no rule says what this package may depend on")];
    };
    let named = dependencies(&table);
    let ours = named.iter().filter(|name| name.starts_with("claimstream"));
    let wrong_side = ours.filter(|name| !allowed.ours.contains(&name.as_str()) && !allowed.everything);
    let outside = named.iter().filter(|name| OUTSIDE.contains(&name.as_str()) && !allowed.outside);
    wrong_side.chain(outside).map(|name| format!("{folder} must not depend on {name}")).collect()
}

struct Allowed {
    ours: &'static [&'static str],
    outside: bool,
    everything: bool,
}

fn allowed(folder: &str) -> Option<Allowed> {
    let inner = |ours| Some(Allowed { ours, outside: false, everything: false });
    match folder {
        "domain" => inner(&[]),
        "ports" => inner(&[DOMAIN]),
        "app/outbox" | "app/notifications" | "app/publishing" => inner(&[DOMAIN, PORTS]),
        "app/steps" => inner(&[DOMAIN, PORTS, OUTBOX]),
        "tests/models" => inner(&[DOMAIN]),
        "adapters/cli" | "examples" => Some(Allowed { ours: &[], outside: true, everything: true }),
        _ if folder.starts_with("tests/") => Some(Allowed { ours: &[], outside: true, everything: true }),
        _ if folder.starts_with("adapters/") => {
            Some(Allowed { ours: &[DOMAIN, PORTS, TOKIO], outside: true, everything: false })
        }
        _ => None,
    }
}

/// The packages that a manifest names, other than for its tests; a renamed one goes by its real name.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let sections =
        tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|name| table.get(name)));
    let entries = sections.flatten().filter_map(Value::as_table).flatten();
    entries
        .map(|(name, value)| value.get("package").and_then(Value::as_str).unwrap_or(name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(folder: &str, dependencies: &str) -> Vec<String> {
        complaints(&File::new(&format!("{folder}/Cargo.toml"), dependencies))
    }

    #[test]
    fn complains_about_every_forbidden_edge() {
        let edge = |name: &str| format!("[dependencies]\n{name} = \"1\"\n");
        let forbidden = [
            ("domain", "claimstream-ports"),
            ("domain", "tokio"),
            ("ports", "claimstream"),
            ("ports", "sea-orm"),
            ("ports", "tokio"),
            ("app/outbox", "claimstream-memory"),
            ("app/outbox", "claimstream-steps"),
            ("app/outbox", "claimstream-notifications"),
            ("app/outbox", "tokio"),
            ("app/steps", "claimstream-notifications"),
            ("app/notifications", "claimstream-steps"),
            ("adapters/sea-orm", "claimstream-memory"),
            ("adapters/sea-orm", "claimstream"),
            ("elsewhere", "serde"),
        ];
        for (folder, name) in forbidden {
            assert_eq!(of(folder, &edge(name)).len(), 1, "{folder} -> {name}");
        }
    }

    #[test]
    fn finds_an_edge_wherever_it_is_written() {
        let renamed = "[dependencies]\nstore = { package = \"claimstream-memory\", version = \"1\" }\n";
        let target = "[target.'cfg(unix)'.dependencies]\nclaimstream-tokio = \"1\"\n";
        let build = "[build-dependencies.claimstream-memory]\npath = \"x\"\n";
        for text in [renamed, target, build] {
            assert_eq!(of("app/outbox", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn allows_what_the_architecture_draws() {
        let text = "[dependencies]\nclaimstream-ports = \"1\"\nclaimstream-domain = \"1\"\nserde = \"1\"\n";
        for folder in ["app/outbox", "app/steps", "app/notifications", "adapters/memory"] {
            assert_eq!(of(folder, text), Vec::<String>::new());
        }
        assert_eq!(
            of("app/outbox", "[dev-dependencies]\nclaimstream-memory = \"1\"\n"),
            Vec::<String>::new()
        );
        assert_eq!(
            of("tests/suite", "[dependencies]\nclaimstream-sea-orm = \"1\"\ntokio = \"1\"\n"),
            Vec::<String>::new()
        );
    }
}
