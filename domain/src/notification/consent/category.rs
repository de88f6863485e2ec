use crate::{Invalid, name::name};

name! {
    /// What a notification is about, such as `marketing` or `security`; recipients opt out of categories.
    Category, "category", others: "-_.", "use ASCII letters, digits, '-', '_' and '.'"
}

impl Category {
    /// Stands for every category where preferences are written, so no category has this name.
    pub const ANY: &'static str = "any";

    /// Refuses the name that stands for every category.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self.as_str() == Self::ANY {
            true => Err(Invalid::Malformed {
                what: "category",
                why: format!("{:?} stands for every category; use another name", Self::ANY),
            }),
            false => Ok(()),
        }
    }
}
