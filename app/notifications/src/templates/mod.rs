//! Templates: the engine that fills them in, what is kept of those that were used lately, and how they are edited and published.

mod cached;
mod compiled;
mod compiled_templates;
mod editor;
mod engine;
#[cfg(test)]
mod tests;

pub use cached::{CachedTemplates, TemplateAge};
pub use compiled::CompiledTemplate;
pub(crate) use compiled::no_template;
pub use compiled_templates::CompiledTemplates;
pub use editor::{Edition, Published, TemplateEditError, TemplateEditor};
