use std::io::{self, BufRead, IsTerminal, Write, stderr};

/// Asks whether something is to be done, on a terminal; elsewhere the answer is no.
pub(super) fn agreed(question: &str) -> io::Result<bool> {
    if !io::stdin().is_terminal() || !stderr().is_terminal() {
        return Ok(false);
    }
    write!(stderr(), "{question}? [y/N] ")?;
    stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
