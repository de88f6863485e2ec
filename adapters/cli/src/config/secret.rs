use std::{fmt, path::PathBuf};

use super::setting::{ConfigValue, Setting};

/// A password or a key: always shown as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

/// A secret, or where it is kept; at most one of the three is set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SecretSource {
    /// The secret itself.
    pub value: Option<Secret>,
    /// The name of an environment variable that holds it.
    pub env: Option<String>,
    /// A file that holds it; a line end at its end does not belong to it.
    pub file: Option<PathBuf>,
}

impl Secret {
    /// Keeps a secret.
    pub fn new(secret: impl Into<Box<str>>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl SecretSource {
    /// Whether there is one at all.
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// Reads the secret from where it is kept; `None` if there is none. Fails with a sentence that names the variable or
    /// the file.
    pub fn read(&self) -> Result<Option<Secret>, String> {
        let secret = match (&self.value, &self.env, &self.file) {
            (Some(value), _, _) => Some(value.clone()),
            (None, Some(name), _) => Some(from_variable(name)?),
            (None, None, Some(path)) => Some(from_file(path)?),
            (None, None, None) => None,
        };
        match secret {
            Some(secret) if secret.reveal().is_empty() => Err("the secret is empty".into()),
            secret => Ok(secret),
        }
    }

    /// Shows the three values, under `name`, `name_env` and `name_file`.
    pub(super) fn each(&mut self, name: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit(name, &mut self.value);
        visit(&format!("{name}_env"), &mut self.env);
        visit(&format!("{name}_file"), &mut self.file);
    }
}

impl ConfigValue for Secret {
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self::new(text))
    }

    fn write(&self) -> String {
        "\"***\"".into()
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

fn from_variable(name: &str) -> Result<Secret, String> {
    std::env::var(name).map(Secret::new).map_err(|e| match e {
        std::env::VarError::NotPresent => format!("the variable {name} is not set"),
        std::env::VarError::NotUnicode(_) => format!("the variable {name} is not UTF-8"),
    })
}

fn from_file(path: &PathBuf) -> Result<Secret, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("the file {} cannot be read: {e}", path.display()))?;
    Ok(Secret::new(text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_never_shown() {
        let secret = Secret::new("hunter2");
        let source = SecretSource { value: Some(secret.clone()), ..SecretSource::default() };
        let shown = format!("{secret} {secret:?} {source:?} {}", secret.write());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(source.read(), Ok(Some(secret)));
    }

    #[test]
    fn comes_from_a_variable_or_a_file_and_names_what_is_missing() {
        let from = |env: Option<&str>, file: Option<PathBuf>| {
            SecretSource { value: None, env: env.map(str::to_owned), file }.read()
        };
        assert_eq!(from(Some("CARGO_PKG_NAME"), None), Ok(Some(Secret::new("claimstream-cli"))));
        assert_eq!(from(Some("NO_SUCH_THING"), None), Err("the variable NO_SUCH_THING is not set".into()));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, " two words \r\n").unwrap();
        assert_eq!(from(None, Some(path.clone())), Ok(Some(Secret::new(" two words "))));
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(from(None, Some(path)), Err("the secret is empty".into()));
        assert!(from(None, Some("/no/such/file".into())).unwrap_err().contains("/no/such/file"));
    }
}
