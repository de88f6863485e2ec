use std::{
    io,
    process::{self, Child, Command, Stdio},
};

/// Lets a process run for a share of the time only, by stopping and continuing it ten times a second; as long as this is held.
pub(crate) struct ProcessorShare {
    pacer: Child,
    of: String,
}

/// Stops with the process that started it, so that nothing is left stopped.
const PACER: &str =
    "while kill -0 $1 2>/dev/null; do kill -STOP $2; sleep $4; kill -CONT $2; sleep $3; done; kill -CONT $2";

impl ProcessorShare {
    /// So many hundredths of the time.
    pub(crate) fn of(process: &str, hundredths: u32) -> io::Result<Self> {
        let share = f64::from(hundredths) / 1_000.0;
        let (runs, stands) = (format!("{share:.3}"), format!("{:.3}", 0.1 - share));
        let own = process::id().to_string();
        let pacer = Command::new("sh")
            .args(["-c", PACER, "sh", &own, process, &runs, &stands])
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self { pacer, of: process.to_owned() })
    }
}

impl Drop for ProcessorShare {
    fn drop(&mut self) {
        let _ = self.pacer.kill();
        let _ = self.pacer.wait();
        let _ = Command::new("kill").args(["-CONT", &self.of]).status();
    }
}
