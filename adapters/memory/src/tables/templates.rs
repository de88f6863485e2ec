use std::{collections::BTreeMap, sync::Arc};

use claimstream_domain::{
    Timestamp,
    notification::{Template, TemplateVersion},
};

/// The templates by id.
pub(crate) type TemplateTable = BTreeMap<String, TemplateRow>;

/// A template: its draft and its versions.
#[derive(Debug, Default)]
pub(crate) struct TemplateRow {
    pub(crate) draft: Option<(Template, u32, Timestamp)>,
    /// In the order of their numbers, from 1 on.
    pub(crate) versions: Vec<VersionRow>,
}

/// A version of a template.
#[derive(Debug)]
pub(crate) struct VersionRow {
    pub(crate) version: Arc<TemplateVersion>,
    pub(crate) restores: Option<u32>,
    pub(crate) at: Timestamp,
}
