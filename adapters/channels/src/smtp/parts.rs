use std::sync::Arc;

use claimstream_domain::notification::Attachment;
use claimstream_ports::notification::DeliveryError;
use lettre::message::{
    Attachment as Part, Body, MultiPart,
    header::{ContentTransferEncoding, ContentType},
};

use crate::attachments::{FetchedFile, types};

/// A mail's body with a part for each file behind it.
pub(super) fn with_files(
    body: MultiPart,
    attachments: &[Attachment],
    files: &[Arc<FetchedFile>],
) -> Result<MultiPart, DeliveryError> {
    types(attachments, files).try_fold(body, |body, (attachment, file, kind)| {
        let kind = match ContentType::parse(&kind) {
            Ok(kind) => kind,
            Err(_) if attachment.content_type.is_none() => bytes()?,
            Err(_) => {
                let why = format!("{kind:?} is no content type such as application/pdf");
                return Err(DeliveryError::permanent(format!("the attachment {:?}: {why}", attachment.name)));
            }
        };
        Ok(body.singlepart(Part::new(safe_name(&attachment.name)).body(exact(file), kind)))
    })
}

/// In base64, whatever it is: a text would come with other ends of lines than it has.
fn exact(file: &FetchedFile) -> Body {
    Body::new_with_encoding(file.bytes.clone(), ContentTransferEncoding::Base64).unwrap_or_else(Body::new)
}

fn bytes() -> Result<ContentType, DeliveryError> {
    let parsed = ContentType::parse("application/octet-stream");
    parsed.map_err(|e| DeliveryError::permanent(format!("an attachment has no content type: {e}")))
}

/// A name that is a name to every mail program: no path, no header, and no letters that turn the direction of writing, because they can make
/// a program look like a picture.
fn safe_name(name: &str) -> String {
    let is_odd = |c: char| {
        c.is_control()
            || "/\\:\"<>|*?".contains(c)
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let safe = name.replace(is_odd, "_");
    let safe = safe.trim().trim_start_matches('.');
    if safe.is_empty() { "attachment".to_owned() } else { safe.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(name: &str) -> String {
        let attachment =
            Attachment { url: "https://example.com/a".into(), name: name.into(), content_type: None };
        let file = Arc::new(FetchedFile { bytes: b"%PDF".to_vec(), content_type: None });
        let body = MultiPart::mixed().build();
        let part = with_files(body, &[attachment], &[file]).unwrap();
        String::from_utf8(part.formatted()).unwrap()
    }

    #[test]
    fn a_name_is_no_path_and_no_header() {
        for (name, safe) in [
            ("a.pdf", "a.pdf"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("C:\\a.pdf", "C__a.pdf"),
            ("a\r\nBcc: eve@example.com", "a__Bcc_ eve@example.com"),
            ("a\";x=\"b.pdf", "a_;x=_b.pdf"),
            ("invoice\u{202e}fdp.exe", "invoice_fdp.exe"),
            ("..", "attachment"),
            ("", "attachment"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
            let part = formatted(name);
            assert!(!part.contains("\nBcc") && part.is_ascii(), "{part}");
        }
        assert!(formatted("Rechnung März.pdf").contains("filename*"), "{}", formatted("Rechnung März.pdf"));
    }
}
