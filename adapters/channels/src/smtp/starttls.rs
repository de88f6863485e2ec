use std::io;

use claimstream_domain::notification::SmtpStage;
use lettre::transport::smtp::extension::ClientId;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::dialogue::SmtpRefusal;

/// Asks a server to encrypt (RFC 3207), and answers the stream on which it is about to.
///
/// Nothing behind the server's consent is read in the clear, so what an attacker put there becomes no reply of the encrypted session.
pub(super) async fn ask(mut stream: TcpStream, hello: &ClientId) -> Result<TcpStream, SmtpRefusal> {
    expect(reply(&mut stream).await?)?;
    let extensions = expect(command(&mut stream, &format!("EHLO {hello}\r\n")).await?)?;
    if !extensions.lines().skip(1).any(|line| line.trim().eq_ignore_ascii_case("STARTTLS")) {
        return Err(SmtpRefusal::unanswered(SmtpStage::Session, "STARTTLS is not supported on this server"));
    }
    expect(command(&mut stream, "STARTTLS\r\n").await?)?;
    Ok(stream)
}

/// A reply: its code and its lines.
type SmtpReply = (u16, String);

/// The lines of a reply that consents.
fn expect((code, text): SmtpReply) -> Result<String, SmtpRefusal> {
    match code {
        200..=299 => Ok(text),
        code => Err(SmtpRefusal { code: Some(code), ..SmtpRefusal::unanswered(SmtpStage::Session, text) }),
    }
}

async fn command(stream: &mut TcpStream, line: &str) -> Result<SmtpReply, SmtpRefusal> {
    stream.write_all(line.as_bytes()).await.map_err(|error| broken(&error))?;
    reply(stream).await
}

async fn reply(stream: &mut TcpStream) -> Result<SmtpReply, SmtpRefusal> {
    /// The most lines of a reply.
    const MOST: usize = 100;
    let mut text = String::new();
    for _ in 0..MOST {
        let line = line(stream).await.map_err(|error| broken(&error))?;
        let (code, rest) = line.split_at_checked(3).unwrap_or_default();
        let code: u16 = code.parse().map_err(|_| unreadable())?;
        text.extend([rest.get(1..).unwrap_or_default(), "\n"]);
        if !rest.starts_with('-') {
            return Ok((code, text.trim_end().to_owned()));
        }
    }
    Err(unreadable())
}

/// One line in ASCII, byte by byte: what follows it belongs to the encryption.
async fn line(stream: &mut TcpStream) -> io::Result<String> {
    /// The longest line (RFC 5321, section 4.5.3.1.5, has 512).
    const LONGEST: usize = 2_000;
    let mut line = String::new();
    while line.len() < LONGEST {
        match stream.read_u8().await? {
            b'\n' => return Ok(line.trim_end().to_owned()),
            byte if byte.is_ascii() => line.push(char::from(byte)),
            _ => line.push('?'),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a line of the reply is too long"))
}

fn broken(error: &io::Error) -> SmtpRefusal {
    SmtpRefusal::unanswered(SmtpStage::Session, format!("the connection broke: {error}"))
}

fn unreadable() -> SmtpRefusal {
    SmtpRefusal::unanswered(SmtpStage::Session, "the reply is none of SMTP")
}
