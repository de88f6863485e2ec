//! One page a file.

pub(crate) mod audit;
pub(crate) mod dead_groups;
pub(crate) mod dead_letter;
pub(crate) mod dead_list;
pub(crate) mod dead_work;
pub(crate) mod doctor;
pub(crate) mod overview;
pub(crate) mod pause;
pub(crate) mod queue;
pub(crate) mod sign_in;
pub(crate) mod style;
