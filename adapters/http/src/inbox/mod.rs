//! Inboxes of users over HTTP: their readers, and those who wait for new entries.

mod cursor;
mod feed;
mod listeners;
mod reader;
mod shown;

pub(crate) use cursor::Cursor;
pub(crate) use feed::Feed;
pub(crate) use listeners::Listeners;
pub(crate) use reader::Inboxes;
pub(crate) use shown::EntryShown;
