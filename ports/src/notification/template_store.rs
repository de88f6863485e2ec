use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{Template, TemplateVersion};

use super::TemplateSource;
use crate::StoreError;

/// Keeps templates: a draft of each, which is edited, and its versions, of which the newest is sent.
#[async_trait]
pub trait TemplateStore: TemplateSource {
    /// Keeps a draft in place of the one before, and answers its revision: 1 for the first one, and one more for each that differs
    /// from the one before.
    async fn save_draft(&self, id: &str, draft: &Template) -> Result<u32, StoreError>;

    /// The draft of a template; `None` if there is no such template.
    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError>;

    /// Publishes a version.
    ///
    /// Implementors owe: it is kept if and only if its number is one more than that of the newest version, or 1 if there is none; else,
    /// nothing changes and the error is a [`Conflict`](crate::StoreErrorKind::Conflict). Of two calls with the same number at
    /// once exactly one succeeds. A version never changes, and never goes.
    async fn publish(&self, new: &NewTemplateVersion) -> Result<(), StoreError>;

    /// A page of the templates by id, after the id `after`, at most `limit`.
    async fn templates(&self, after: Option<String>, limit: u32) -> Result<Vec<TemplateListed>, StoreError>;

    /// The versions of a template, the newest first, below the number `below`, at most `limit`.
    async fn versions(
        &self,
        id: &str,
        below: Option<u32>,
        limit: u32,
    ) -> Result<Vec<TemplateVersionListed>, StoreError>;
}

/// A draft as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateDraft {
    /// What it says.
    pub template: Template,
    /// How often it has changed.
    pub revision: u32,
    /// How long ago it was changed.
    pub age: Duration,
}

/// A version to be published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTemplateVersion {
    /// The version.
    pub version: TemplateVersion,
    /// The older version that it repeats, if it takes another one back.
    pub restores: Option<u32>,
}

/// A template in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateListed {
    /// Its id.
    pub id: String,
    /// The revision of its draft.
    pub revision: u32,
    /// How long ago the draft was changed.
    pub age: Duration,
    /// The number of its newest version; `None` if it was never published.
    pub published: Option<u32>,
}

/// A version in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateVersionListed {
    /// Its number.
    pub number: u32,
    /// The older version that it repeats.
    pub restores: Option<u32>,
    /// How long ago it was published.
    pub age: Duration,
}
