use std::path::Path;

use serde_json::{Value, json};

use super::{
    api::{Api, TOKEN},
    tools::{Tools, said, script},
};

/// Calls made up by schemathesis, from the description of a server.
pub(super) struct Calls<'a> {
    pub(super) api: &'a Api,
    /// What it sends besides its own arguments.
    pub(super) arguments: &'a [&'a str],
}

impl Calls<'_> {
    /// So many cases are a small part of what it makes of 33 operations.
    const LEAST: u64 = 1_000;

    /// Makes them; none may contradict the description.
    #[track_caller]
    pub(super) fn are_answered_as_described(&self, tools: &Tools) {
        let (folder, address) = (self.api.folder(), self.api.address());
        let mut command = tools.python(&folder);
        // A notification that there is; the configuration names the variable.
        command.env("NOTIFICATION", self.api.send());
        command.args(["-m", "schemathesis.cli", "--config-file", &script("schemathesis.toml"), "run"]);
        command.args([&format!("{address}/openapi.json"), "--url", &address]);
        command.args(["--report", "json", "--report-json-path", "report.json"]);
        said(command.args(self.arguments), "");
        let report: Value =
            serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
        let (operations, cases) = (&report["operations"], &report["test_cases"]);
        assert_eq!((&operations["tested"], &operations["errored"]), (&json!(33), &json!(0)), "{operations}");
        assert!(cases["generated"].as_u64() >= Some(Self::LEAST), "{cases}");
        assert_eq!((&cases["with_failures"], &cases["errored"]), (&json!(0), &json!(0)), "{cases}");
        assert_eq!(self.api.errors(), [Value::Null; 0]);
        println!("schemathesis {:?}: {cases}", self.arguments);
    }
}

/// What a generated client has sent and read.
pub(super) fn client(tools: &Tools, api: &Api) -> Value {
    let (folder, description) = (api.folder(), api.description());
    let client = folder.join("client");
    let generate =
        ["-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none", "--path"];
    let to = ["--output-path", client.to_str().unwrap()];
    tools.run(&folder, &[&generate[..], &[description], &to].concat(), "");
    let client = script("client.py");
    read(&tools.run(&folder, &[&client, text(&folder), &api.address(), TOKEN], ""))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn read(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))
}
