use serde::{Deserialize, Serialize};

/// A place in a segment: where a page of its members begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub enum SegmentPlace {
    /// Before all members.
    #[default]
    Start,
    /// After the member of this key. Only the directory knows what a key is; most often it is the id of a user.
    After(String),
}

impl SegmentPlace {
    /// The key after which the page begins; `None` at the start.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Start => None,
            Self::After(key) => Some(key),
        }
    }

    pub(super) fn is_start(&self) -> bool {
        *self == Self::Start
    }
}

impl From<Option<String>> for SegmentPlace {
    fn from(key: Option<String>) -> Self {
        key.map_or(Self::Start, Self::After)
    }
}

impl From<SegmentPlace> for Option<String> {
    fn from(place: SegmentPlace) -> Self {
        match place {
            SegmentPlace::Start => None,
            SegmentPlace::After(key) => Some(key),
        }
    }
}
