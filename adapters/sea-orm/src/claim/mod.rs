pub(crate) mod announcements;
pub(crate) mod known_shards;
pub(crate) mod rows;
pub(crate) mod weights;
