use std::{env, fmt};

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The tokens that a server knows, each with its name and its scopes. No token itself is kept, only its SHA-256.
#[derive(Clone, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Clone)]
struct Token {
    name: String,
    scopes: Vec<Scope>,
    hash: [u8; 32],
}

/// What a token allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// To hand requests in and to call them off.
    Send,
    /// To read requests and their messages.
    Read,
    /// To read inboxes of users, to mark their entries, and to make passes for them.
    Inbox,
    /// Everything.
    Admin,
}

/// The caller of a request: the name of its token and what that allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenIdentity {
    /// The name of its token.
    pub name: String,
    scopes: Vec<Scope>,
}

impl Tokens {
    /// The shortest token that is taken from a variable, in bytes.
    const SHORTEST: usize = 20;

    /// Reads tokens, one on a line: a name, its scopes, and `sha256:HEX`, or `env:NAME` for a variable that holds the token
    /// itself. `#` begins a comment, and `;` may stand for the end of a line.
    ///
    /// ```
    /// use claimstream_http::Tokens;
    ///
    /// let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    /// let tokens = Tokens::read(&format!("shop send,read sha256:{hash}"))?;
    /// assert_eq!(tokens.describe(), ["shop (send, read)"]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// A refusal names the line and never repeats what follows the scopes.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut tokens = Vec::<Token>::new();
        let lines = text.split(['\n', ';']).map(|line| line.split('#').next().unwrap_or_default().trim());
        for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
            let token = Token::read(line).map_err(|why| format!("token {number}: {why}"))?;
            if tokens.iter().any(|other| other.name == token.name && other.hash == token.hash) {
                return Err(format!("token {number}: {} stands there twice", token.name));
            }
            tokens.push(token);
        }
        Ok(Self(tokens))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name and the scopes of each, for people.
    pub fn describe(&self) -> Vec<String> {
        let scopes = |token: &Token| token.scopes.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
        self.0.iter().map(|token| format!("{} ({})", token.name, scopes(token))).collect()
    }

    /// The caller that presents a token. It takes the same time whichever token it is, and however much of it is right.
    pub fn identify(&self, presented: &str) -> Option<TokenIdentity> {
        let hash: [u8; 32] = Sha256::digest(presented).into();
        let mut found = None;
        for token in &self.0 {
            let same: Choice = token.hash.ct_eq(&hash);
            if same.into() {
                found = Some(token);
            }
        }
        found.map(|token| TokenIdentity { name: token.name.clone(), scopes: token.scopes.clone() })
    }
}

impl TokenIdentity {
    /// The caller of a server that asks for no tokens.
    pub(crate) fn anonymous() -> Self {
        Self { name: "anonymous".into(), scopes: vec![Scope::Admin] }
    }

    /// Whether its token allows this.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

impl Scope {
    const ALL: [Self; 4] = [Self::Send, Self::Read, Self::Inbox, Self::Admin];

    /// Its name in files and refusals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Read => "read",
            Self::Inbox => "inbox",
            Self::Admin => "admin",
        }
    }
}

impl Token {
    fn read(line: &str) -> Result<Self, String> {
        let [name, scopes, secret] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err("write a name, scopes such as send,read, and sha256:HEX or env:NAME".into());
        };
        if name.len() > 64 || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            return Err("a name has at most 64 letters, digits, '-', '_' and '.'".into());
        }
        let scopes = scopes.split(',').map(scope).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            name: name.to_owned(),
            scopes,
            hash: hash(secret).map_err(|why| format!("{name}: {why}"))?,
        })
    }
}

fn scope(name: &str) -> Result<Scope, String> {
    let found = Scope::ALL.into_iter().find(|scope| scope.name() == name);
    found.ok_or_else(|| format!("the scope {name:?} is not one of send, read, inbox, admin"))
}

fn hash(secret: &str) -> Result<[u8; 32], String> {
    if let Some(written) = secret.strip_prefix("sha256:") {
        let bytes = hex::decode(written).ok().and_then(|bytes| bytes.try_into().ok());
        return bytes.ok_or_else(|| "sha256: is followed by 64 hexadecimal digits".into());
    }
    let Some(variable) = secret.strip_prefix("env:") else {
        return Err("the token is given as sha256:HEX or env:NAME".into());
    };
    let token = env::var(variable).map_err(|_| format!("the variable {variable} is not set"))?;
    if token.len() < Tokens::SHORTEST {
        return Err(format!("the token in {variable} has fewer than {} bytes", Tokens::SHORTEST));
    }
    Ok(Sha256::digest(token).into())
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokens").field(&self.describe()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(token: &str) -> String {
        format!("sha256:{}", hex::encode(Sha256::digest(token)))
    }

    #[test]
    fn a_token_is_known_by_its_hash_and_has_its_scopes() {
        let text = format!("# ours\nshop send,read {}\nops admin {} # on call", hashed("one"), hashed("two"));
        let tokens = Tokens::read(&text).unwrap();
        let shop = tokens.identify("one").unwrap();
        assert_eq!(
            (shop.name.as_str(), shop.may(Scope::Send), shop.may(Scope::Admin)),
            ("shop", true, false)
        );
        assert!(tokens.identify("two").unwrap().may(Scope::Send));
        assert_eq!(tokens.identify("three"), None);
        assert_eq!(tokens.identify(""), None);
        assert_eq!(format!("{tokens:?}"), r#"Tokens(["shop (send, read)", "ops (admin)"])"#);
    }

    #[test]
    fn a_token_may_change_while_two_of_a_name_are_valid() {
        let tokens = Tokens::read(&format!("a send {}; a send {}", hashed("old"), hashed("new"))).unwrap();
        assert_eq!(tokens.identify("old"), tokens.identify("new"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_the_secret() {
        let why = |text: &str| Tokens::read(text).unwrap_err();
        assert!(why("shop send hunter2").contains("token 1: shop: the token is given as"));
        assert!(why("\nshop sent sha256:00").contains("token 2: the scope \"sent\""));
        assert!(why("shop send sha256:hunter2").contains("64 hexadecimal digits"));
        assert!(why("shop send env:NO_SUCH_TOKEN").contains("NO_SUCH_TOKEN is not set"));
        assert!(why("shop send env:CARGO_PKG_VERSION").contains("fewer than 20 bytes"));
        assert!(why("shop").contains("write a name"));
        assert!(why(&format!("a\u{e9} send {}", hashed("x"))).contains("letters, digits"));
        let twice = format!("a send {0}\na read {0}", hashed("x"));
        assert!(why(&twice).contains("token 2: a stands there twice"));
        assert!(!why("shop send hunter2").contains("hunter2"));
    }
}
