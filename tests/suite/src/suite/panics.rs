use std::{any::Any, cell::RefCell, panic, sync::LazyLock};

use libtest_mimic::Failed;

/// Keeps what a panic of this thread says and where, so that the report shows it under the name of its test.
pub(super) fn remember_panics() {
    static HOOK: LazyLock<()> = LazyLock::new(|| {
        panic::set_hook(Box::new(|info| {
            LAST_PANIC.with(|last| *last.borrow_mut() = Some(info.to_string()));
        }));
    });
    *HOOK
}

pub(super) fn failed(panic: Box<dyn Any + Send>) -> Failed {
    let message = LAST_PANIC.with(|last| last.borrow_mut().take());
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    message.or(text).unwrap_or_else(|| "a panic without words".to_owned()).into()
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}
