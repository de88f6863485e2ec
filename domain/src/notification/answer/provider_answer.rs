use super::stage::SmtpStage;

/// What a provider answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProviderAnswer<'a> {
    /// How far the dialogue had come; none over HTTP.
    pub stage: Option<SmtpStage>,
    /// The reply code or the status.
    pub code: u16,
    /// The enhanced status of a reply, or what the body says.
    pub detail: Option<&'a str>,
    /// The text of the reply, or the body as far as it was read. Names of recipients should be left out.
    pub text: &'a str,
}

impl<'a> ProviderAnswer<'a> {
    /// A reply of an SMTP server (RFC 5321, section 4.2) with its enhanced status (RFC 3463) if the text begins with one.
    pub fn of_smtp(stage: SmtpStage, code: u16, text: &'a str) -> Self {
        let first = text.split_whitespace().next();
        Self { stage: Some(stage), code, detail: first.filter(|word| is_enhanced(word)), text }
    }

    /// An HTTP answer whose body was not read.
    pub fn of_http(status: u16) -> Self {
        Self { code: status, ..Self::default() }
    }
}

/// Whether a word is an enhanced status, such as `5.1.1` (RFC 3463, section 2).
fn is_enhanced(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_number = |part: &&str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3 && matches!(parts[0], "2" | "4" | "5") && parts.iter().all(is_number)
}
