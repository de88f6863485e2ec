use std::io::{Write, stdin, stdout};

use serde::Serialize;
use tokio::sync::oneshot;

use crate::Failure;

/// Says that this process is ready, and waits until the bench starts it.
pub(crate) fn wait_for_go() -> Result<(), Failure> {
    println!("ready");
    stdout().flush()?;
    stdin().read_line(&mut String::new())?;
    Ok(())
}

/// Ends when the bench stops this process.
pub(crate) async fn stop() {
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = stdin().read_line(&mut String::new());
        let _ = stop.send(());
    });
    let _ = stopped.await;
}

/// The last word of this process.
pub(crate) fn report(what: &impl Serialize) -> Result<(), Failure> {
    stdout().write_all(&serde_json::to_vec(what)?)?;
    Ok(stdout().flush()?)
}
