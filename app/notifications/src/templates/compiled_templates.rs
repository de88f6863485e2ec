use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use claimstream_domain::{
    Invalid,
    notification::{NotificationRequest, TemplateFault, TemplateVersion},
};
use claimstream_ports::{StoreError, notification::TemplateSource};

use super::CompiledTemplate;

/// A source of templates, and those compiled that were used lately.
pub struct CompiledTemplates {
    source: Arc<dyn TemplateSource>,
    compiled: Mutex<HashMap<(String, u32), Arc<CompiledTemplate>>>,
}

/// A template as it was found: compiled, or with the fault that keeps it from being used.
pub(crate) type CompiledLookup = Option<Result<Arc<CompiledTemplate>, Invalid>>;

impl CompiledTemplates {
    /// How many versions are kept.
    const MOST: usize = 256;

    /// Those of a source.
    pub fn of(source: Arc<dyn TemplateSource>) -> Self {
        Self { source, compiled: Mutex::default() }
    }

    /// The version of a template that is sent now, or a certain one; `None` if there is no such template.
    pub(crate) async fn find(&self, id: &str, number: Option<u32>) -> Result<CompiledLookup, StoreError> {
        let found = match number {
            Some(number) => self.source.version(id, number).await?,
            None => self.source.published(id).await?,
        };
        Ok(found.map(|version| self.compile(version)))
    }

    /// Says why a request can never be carried out, by its template; `None` if it can, or has content of its own.
    pub async fn fault(&self, request: &NotificationRequest) -> Result<Option<TemplateFault>, StoreError> {
        let Some(call) = &request.template else { return Ok(None) };
        let id = call.id.clone();
        Ok(match self.find(&id, None).await? {
            None => Some(TemplateFault::Unknown { id }),
            Some(Err(invalid)) => Some(TemplateFault::Unusable { id, why: invalid.to_string() }),
            Some(Ok(template)) => template.fault(request, call),
        })
    }

    fn compile(&self, version: Arc<TemplateVersion>) -> Result<Arc<CompiledTemplate>, Invalid> {
        let key = (version.id.clone(), version.number);
        let is_it = |known: &&Arc<CompiledTemplate>| {
            Arc::ptr_eq(known.version(), &version) || *known.version() == version
        };
        let known = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key).filter(is_it) {
            return Ok(Arc::clone(found));
        }
        let compiled = Arc::new(CompiledTemplate::of(version)?);
        let mut known = known();
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

impl fmt::Debug for CompiledTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledTemplates").finish_non_exhaustive()
    }
}
