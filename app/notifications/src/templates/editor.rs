use std::{fmt, sync::Arc};

use claimstream_domain::{
    Invalid, Reason,
    notification::{Channel, Content, Recipient, Template, TemplateCall, TemplateFault, TemplateVersion},
};
use claimstream_ports::{
    StoreError,
    notification::{NewTemplateVersion, TemplateStore},
};

use super::CompiledTemplate;

/// Edits templates and publishes them, and checks what it publishes.
#[derive(Clone)]
pub struct TemplateEditor {
    store: Arc<dyn TemplateStore>,
}

/// Why a template was not edited, published or shown.
#[derive(Debug, thiserror::Error)]
pub enum TemplateEditError {
    /// There is no such template.
    #[error("there is no template {id:?}")]
    Unknown {
        /// Its id.
        id: String,
    },
    /// There is no such version.
    #[error("the template {id:?} has no version {number}")]
    UnknownVersion {
        /// The template's id.
        id: String,
        /// The number.
        number: u32,
    },
    /// It has a fault, with its place.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It cannot be called like this.
    #[error(transparent)]
    Call(#[from] TemplateFault),
    /// It cannot be filled in for this recipient.
    #[error("{0}")]
    Unwritten(Reason),
    /// The store has failed, or another call was first.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A version that is sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Published {
    /// Its number.
    pub number: u32,
    /// Whether this call has published it; it was there if the draft had not changed.
    pub is_new: bool,
}

/// Which text of a template a preview shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edition {
    /// The draft.
    Draft,
    /// A version.
    Version(u32),
}

impl TemplateEditor {
    /// An editor of the templates of a store.
    pub fn new(store: Arc<dyn TemplateStore>) -> Self {
        Self { store }
    }

    /// The store.
    pub fn store(&self) -> &dyn TemplateStore {
        self.store.as_ref()
    }

    /// Keeps a draft, and answers its revision. A draft may be unfinished: what it includes and uses is checked when it is published.
    pub async fn save(&self, id: &str, draft: &Template) -> Result<u32, TemplateEditError> {
        Template::check_id(id)?;
        declared(draft).check()?;
        Ok(self.store.save_draft(id, &declared(draft)).await?)
    }

    /// Publishes the draft, if it compiles, [hides nothing](Template::refuse_hidden), declares the variables that it uses, and includes nothing but published templates. One that
    /// says what the newest version says is published already.
    ///
    /// Of two calls at once one ends with a [`Conflict`](claimstream_ports::StoreErrorKind::Conflict).
    pub async fn publish(&self, id: &str) -> Result<Published, TemplateEditError> {
        let draft = self.store.draft(id).await?.ok_or_else(|| unknown(id))?;
        let newest = self.store.published(id).await?;
        let newest_number = newest.as_ref().map_or(0, |newest| newest.number);
        draft.template.refuse_hidden()?;
        let version = self.close(id, newest_number + 1, draft.template).await?;
        CompiledTemplate::of(Arc::new(version.clone()))?;
        if let Some(newest) = newest.filter(|newest| is_same(newest, &version)) {
            return Ok(Published { number: newest.number, is_new: false });
        }
        self.keep(NewTemplateVersion { version, restores: None }).await
    }

    /// Says why the draft cannot be published, if so.
    pub async fn check(&self, id: &str) -> Result<(), TemplateEditError> {
        let draft = self.store.draft(id).await?.ok_or_else(|| unknown(id))?;
        draft.template.refuse_hidden()?;
        CompiledTemplate::of(Arc::new(self.close(id, 0, draft.template).await?))?;
        Ok(())
    }

    /// Publishes an older version again, under a number of its own, with the partials that it had.
    pub async fn restore(&self, id: &str, number: u32) -> Result<Published, TemplateEditError> {
        let newest = self.store.published(id).await?.ok_or_else(|| unknown(id))?;
        let old = self.version(id, number).await?;
        if is_same(&newest, &old) {
            return Ok(Published { number: newest.number, is_new: false });
        }
        let version = TemplateVersion { number: newest.number + 1, ..TemplateVersion::clone(&old) };
        self.keep(NewTemplateVersion { version, restores: Some(number) }).await
    }

    /// What a recipient would read. A draft includes what is published.
    pub async fn preview(
        &self,
        call: &TemplateCall,
        edition: Edition,
        recipient: &Recipient,
        channel: Channel,
    ) -> Result<Content, TemplateEditError> {
        let id = &call.id;
        let version = match edition {
            Edition::Version(number) => self.version(id, number).await?,
            Edition::Draft => {
                let draft = self.store.draft(id).await?.ok_or_else(|| unknown(id))?;
                Arc::new(self.close(id, 0, draft.template).await?)
            }
        };
        let template = CompiledTemplate::of(version)?;
        template.refuse_surplus(call)?;
        template.write(call, recipient, channel, None).map_err(TemplateEditError::Unwritten)
    }

    async fn version(&self, id: &str, number: u32) -> Result<Arc<TemplateVersion>, TemplateEditError> {
        let found = self.store.version(id, number).await?;
        found.ok_or_else(|| TemplateEditError::UnknownVersion { id: id.to_owned(), number })
    }

    /// A version with copies of what it includes, as that is published now.
    async fn close(
        &self,
        id: &str,
        number: u32,
        template: Template,
    ) -> Result<TemplateVersion, TemplateEditError> {
        let mut version = TemplateVersion {
            id: id.to_owned(),
            number,
            template: declared(&template),
            partials: Default::default(),
        };
        loop {
            let missing = version.missing_partials()?;
            if missing.is_empty() {
                return Ok(version);
            }
            for partial in missing {
                let found = self.store.published(&partial).await?;
                let why = || format!("it includes {partial:?}, and no such template is published");
                let found = found.ok_or_else(|| Invalid::Malformed { what: "template", why: why() })?;
                version.partials.insert(partial, found.template.clone());
            }
        }
    }

    async fn keep(&self, new: NewTemplateVersion) -> Result<Published, TemplateEditError> {
        self.store.publish(&new).await?;
        tracing::info!(template = new.version.id, number = new.version.number, "template published");
        Ok(Published { number: new.version.number, is_new: true })
    }
}

/// A template that says nothing of its variables has none here: only files of the older form find them in their texts.
fn declared(template: &Template) -> Template {
    let mut template = template.clone();
    template.variables.get_or_insert_default();
    template
}

fn is_same(one: &TemplateVersion, other: &TemplateVersion) -> bool {
    one.template == other.template && one.partials == other.partials
}

fn unknown(id: &str) -> TemplateEditError {
    TemplateEditError::Unknown { id: id.to_owned() }
}

impl fmt::Debug for TemplateEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateEditor").finish_non_exhaustive()
    }
}
