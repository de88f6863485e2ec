use std::{fs, path::PathBuf};

use crate::{Failure, Session};

/// A folder of pictures of pages.
#[derive(Clone, Debug)]
pub struct Screenshots {
    folder: PathBuf,
}

impl Screenshots {
    /// A folder, which is made where it is missing.
    pub fn at(folder: PathBuf) -> Result<Self, Failure> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder: folder.canonicalize()? })
    }

    /// Removes the pictures of an earlier run.
    pub fn clear(&self) -> Result<(), Failure> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "png") {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Where it is.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Keeps a picture of a session's page, named by this.
    pub async fn take(&self, session: &Session, name: &str) -> Result<(), Failure> {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = name.chars().map(word).collect();
        let words: Vec<_> = name.split('-').filter(|word| !word.is_empty()).collect();
        let picture = session.screenshot_as_png().await?;
        Ok(fs::write(self.folder.join(words.join("-")).with_extension("png"), picture)?)
    }
}
