use std::{collections::BTreeSet, fs, path::Path};

use axum::http::StatusCode;
use claimstream_domain::notification::{Content, DirectoryEntry, consent::Preferences};
use claimstream_http::{Limits, Service};
use serde_json::{Value, json};

use crate::api::{Api, Ports};

fn described() -> Value {
    serde_json::to_value(Service::description()).unwrap()
}

#[tokio::test]
async fn the_description_is_served_with_all_its_parts() {
    let api = Api::new();
    let served = api.get("/openapi.json").await;
    assert_eq!((served.status, served.header("content-type")), (StatusCode::OK, Some("application/json")));
    assert!(served.body["openapi"].as_str().unwrap().starts_with("3.1."), "{}", served.body["openapi"]);
    assert_eq!(served.body["paths"], described()["paths"]);
    let text = served.body.to_string();
    for reference in text.split("\"#/components/").skip(1) {
        let path = format!("/components/{}", reference.split('"').next().unwrap());
        assert!(served.body.pointer(&path).is_some(), "{path} is not there");
    }
}

#[tokio::test]
async fn every_described_route_is_served() {
    let mut ports = Ports::default();
    ports.preferences.expect_change().returning(|_, _| Ok(Default::default()));
    let api = Api::with(ports, Limits::default());
    let signed = crate::unsubscribe::link("user:a").rsplit_once('/').unwrap().1.to_owned();
    for (path, item) in described()["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let path = path
                .replace("{id}", "x")
                .replace("{provider}", "mail")
                .replace("{token}", &signed)
                .replace("{entry}", "x")
                .replace("{number}", "x")
                .replace("{name}", "x")
                .replace("{user}", "x");
            if path == "/readyz" {
                continue;
            }
            let answer = api.call(&method.to_uppercase(), &path, &[], "").await;
            assert!(
                ![StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].contains(&answer.status),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn the_description_of_a_server_without_tokens_demands_none() {
    assert_eq!(described()["security"], json!([{"token": []}]));
    let open = Api::open(Ports::default()).get("/openapi.json").await.body;
    assert_eq!(open["security"], json!([{"token": []}, {}]), "a client made of it can send one elsewhere");
    assert!(open["components"]["securitySchemes"]["token"].is_object());
}

/// Generators of clients refuse a description in which two operations have one id.
#[test]
fn the_description_says_what_is_checked() {
    let described = described();
    let mut ids = BTreeSet::new();
    for (path, item) in described["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().expect(path);
            assert!(ids.insert(id.to_owned()), "{path}: {id} is there twice");
            let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            let named: Vec<_> = parameters.iter().map(|it| it["name"].as_str().unwrap()).collect();
            let in_path = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
            assert!(in_path.clone().all(|name| named.contains(&name)), "{path} takes {named:?}");
            for bounded in parameters
                .iter()
                .filter(|it| ["id", "name", "user", "provider"].contains(&it["name"].as_str().unwrap()))
            {
                let schema = &bounded["schema"];
                let is_bounded = schema["format"] == "uuid" || schema["maxLength"].is_u64();
                assert!(is_bounded, "{path}: how long may {bounded} be?");
            }
            for limit in parameters.iter().filter(|parameter| parameter["name"] == "limit") {
                let schema = &limit["schema"];
                assert_eq!((&schema["minimum"], &schema["maximum"]), (&json!(1), &json!(500)), "{path}");
            }
        }
    }
}

/// Of two shapes with one name the description has one, and says it of both.
#[test]
fn no_two_shapes_have_one_name() {
    let mut names = BTreeSet::new();
    for text in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        for shape in text.split("ToSchema)]\n").skip(1) {
            let declared = shape.split_inclusive("struct ").next().unwrap();
            let declared = declared.split_inclusive("enum ").next().unwrap();
            let name = match declared.split_once("schema(as = ") {
                Some((_, rest)) => rest,
                None => &shape[declared.len()..],
            };
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is the name of two shapes");
        }
    }
    assert!(names.len() > 50, "{names:?}");
}

fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => texts.extend(sources(&path)),
            false => texts.extend(
                path.extension().is_some_and(|it| it == "rs").then(|| fs::read_to_string(&path).unwrap()),
            ),
        }
    }
    texts
}

#[test]
fn the_description_allows_what_is_read_and_no_more() {
    let described = described();
    let schema = |pointer: &str| described.pointer(&format!("/components/schemas/{pointer}")).unwrap();
    // Neither is read as `null`.
    assert_eq!(schema("NewNotification/properties/priority")["$ref"], "#/components/schemas/Priority");
    for (list, kind) in [
        ("Content/properties/attachments", "array"),
        ("TemplateCall/properties/params", "object"),
        ("Preferences/properties/rules", "array"),
    ] {
        assert_eq!(schema(list)["type"], kind, "{list}");
        let (shape, name) = list.split_once("/properties/").unwrap();
        let required = schema(shape)["required"].as_array().cloned().unwrap_or_default();
        assert!(!required.contains(&json!(name)), "{list} may be left out");
    }
    let entry = schema("EntryShown");
    assert_eq!((&entry["type"], &entry["required"]), (&json!("object"), &json!(["attributes", "segments"])));
    assert_eq!(entry["properties"]["segments"]["type"], "array");

    let operation = |method: &str, path: &str| described["paths"][path][method].clone();
    let parameter = |method: &str, path: &str, name: &str| {
        let operation = operation(method, path);
        let all = operation["parameters"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["schema"].clone()
    };
    for (method, path, name) in [
        ("get", "/v1/notifications", "after"),
        ("get", "/v1/notifications/{id}/messages", "after"),
        ("get", "/v1/recipients/{id}/inbox", "after"),
        ("post", "/v1/recipients/{id}/inbox/read-all", "up_to"),
    ] {
        assert_eq!(parameter(method, path, name)["format"], "uuid", "{path}");
    }
    assert_eq!(parameter("get", "/v1/suppressions", "after")["pattern"], "^[0-9a-fA-F]{64}$");
    let status = parameter("get", "/v1/notifications", "status");
    assert!(status["enum"].is_array() || status["oneOf"].is_array(), "{status}");
    let number = parameter("get", "/v1/templates/{id}/versions/{number}", "number");
    assert_eq!(
        (&number["oneOf"][0]["type"], &number["oneOf"][1]["enum"]),
        (&json!("integer"), &json!(["latest"]))
    );
    for path in ["/v1/recipients/{id}/inbox/pass", "/v1/templates/{id}/publish"] {
        assert_ne!(operation("post", path)["requestBody"]["required"], true, "{path} needs no body");
    }
}

#[test]
fn the_description_has_the_bounds_of_the_domain() {
    let described = described();
    for (shape, bound, most) in [
        ("LookupRecipients/properties/users", "maxItems", 500),
        ("Erasure/properties/addresses", "maxItems", 500),
        ("Requester/properties/id", "maxLength", DirectoryEntry::MAX_ID_BYTES),
        ("TemplateCall/properties/id", "maxLength", DirectoryEntry::MAX_ID_BYTES),
        ("Recipient/oneOf/0/properties/user", "maxLength", DirectoryEntry::MAX_ID_BYTES),
        ("Recipient/oneOf/1/properties/segment", "maxLength", DirectoryEntry::MAX_ID_BYTES),
        ("Recipient/oneOf/2/properties/webhook", "maxLength", DirectoryEntry::MAX_ADDRESS_BYTES),
        ("Content/properties/title", "maxLength", Content::MAX_TITLE_BYTES),
        ("Content/properties/body", "maxLength", Content::MAX_BODY_BYTES),
        ("Content/properties/html", "maxLength", Content::MAX_HTML_BYTES),
        ("Content/properties/redirect_url", "maxLength", Content::MAX_URL_BYTES),
        ("Content/properties/attachments", "maxItems", Content::MAX_ATTACHMENTS),
        ("Attachment/properties/url", "maxLength", Content::MAX_URL_BYTES),
        ("Preferences/properties/rules", "maxItems", Preferences::MAX_RULES),
    ] {
        let found = described.pointer(&format!("/components/schemas/{shape}/{bound}"));
        assert_eq!(found, Some(&json!(most)), "{shape}/{bound}");
    }
    let key = &described["paths"]["/v1/notifications"]["post"]["parameters"][0];
    assert_eq!((&key["name"], &key["schema"]["maxLength"]), (&json!("Idempotency-Key"), &json!(255)));
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let api = Api::new();
    for path in ["/docs", "/docs/page.js", "/docs/page.css"] {
        let answer = api.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
    let policy = api.get("/docs").await.header("content-security-policy").unwrap().to_owned();
    assert!(policy.contains("script-src 'self'") && !policy.contains("http"), "{policy}");
    for text in [include_str!("../../src/page/page.html"), include_str!("../../src/page/page.js")] {
        assert!(!text.contains("https:") && !text.contains("http:") && !text.contains("innerHTML"));
    }
}
