use std::collections::BTreeMap;

use utoipa::{
    IntoResponses,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

use crate::problem::Problem;

/// The problems that every route that reads may answer with.
pub(crate) struct ReadProblems;

/// The problems that every route that takes a body and changes nothing may answer with.
pub(crate) struct BodyProblems;

/// The problems that every route that changes something and takes no body may answer with.
pub(crate) struct ChangeProblems;

/// The problems that every route that takes a body and changes something may answer with.
pub(crate) struct ChangeBodyProblems;

const NO_TOKEN: (u16, &str) = (401, "No valid token");
const AWAY: (u16, &str) = (503, "Try again");
const NO_READER: (u16, &str) = (403, "The token lacks the scope read");
const NOT_ADMIN: (u16, &str) = (403, "The token lacks the scope admin");

impl IntoResponses for ReadProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[NO_TOKEN, NO_READER, AWAY])
    }
}

impl IntoResponses for ChangeProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[NO_TOKEN, NOT_ADMIN, AWAY])
    }
}

impl IntoResponses for BodyProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&with_a_body(NO_READER))
    }
}

impl IntoResponses for ChangeBodyProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&with_a_body(NOT_ADMIN))
    }
}

fn with_a_body(forbidden: (u16, &'static str)) -> [(u16, &'static str); 7] {
    [
        (400, "The body is not valid; `errors` says where"),
        NO_TOKEN,
        forbidden,
        (408, "The body arrives too slowly"),
        (413, "The body is too long"),
        (415, "The body is not JSON"),
        AWAY,
    ]
}

fn problems(list: &[(u16, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let content = || ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let response =
        |why: &str| ResponseBuilder::new().description(why).content(Problem::MEDIA_TYPE, content()).build();
    list.iter().map(|(status, why)| (status.to_string(), RefOr::T(response(why)))).collect()
}
