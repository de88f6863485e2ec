use claimstream_domain::notification::Attachment;

use super::FetchedFile;

/// Of what kind a file is: as the request says, else as its server says.
///
/// A file that is a mail or has parts of its own would have to be taken apart; it goes as bytes.
pub(super) fn content_type(attachment: &Attachment, file: &FetchedFile) -> String {
    let given = attachment.content_type.as_ref().or(file.content_type.as_ref());
    let kind = given.map(|given| given.trim()).unwrap_or_default();
    let is_whole = |kind: &&str| {
        let kind = kind.to_ascii_lowercase();
        !kind.starts_with("multipart/") && !kind.starts_with("message/")
    };
    Some(kind)
        .filter(|kind| !kind.is_empty())
        .filter(is_whole)
        .unwrap_or("application/octet-stream")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_knows_best_and_bytes_are_always_right() {
        let kind = |given: Option<&str>, sent: Option<&str>| {
            let attachment = Attachment {
                url: "https://example.com/a".into(),
                name: "a".into(),
                content_type: given.map(str::to_owned),
            };
            content_type(
                &attachment,
                &FetchedFile { bytes: Vec::new(), content_type: sent.map(str::to_owned) },
            )
        };
        assert_eq!(kind(Some("application/pdf"), Some("text/html")), "application/pdf");
        assert_eq!(kind(None, Some("text/csv; charset=utf-8")), "text/csv; charset=utf-8");
        for (given, sent) in [(None, None), (Some("Message/RFC822"), None), (None, Some("multipart/mixed"))] {
            assert_eq!(kind(given, sent), "application/octet-stream", "{given:?} {sent:?}");
        }
    }
}
