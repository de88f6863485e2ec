use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Mutex,
};

use thirtyfour::{ChromiumLikeCapabilities, DesiredCapabilities, LoggingPrefsLogLevel, WebDriver};

use crate::{Axe, Failure, Session};

/// Headless Chromium behind its driver, which is stopped with this value. `tests/chromium` fetches both.
pub struct Chromium {
    browser: PathBuf,
    axe: Axe,
    driver: Mutex<Child>,
    address: String,
}

/// The environment does not say where the browser is.
#[derive(Debug)]
pub struct Absent;

impl Chromium {
    /// What it is started with: no sandbox, because it needs rights that root and containers lack, and sees our own pages alone; and no
    /// way out of this machine, where `evil.example` is.
    const ARGUMENTS: [&str; 9] = [
        "--headless",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--force-color-profile=srgb",
        "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ];

    /// Starts the driver that the variables of `tests/chromium` name, if they name one.
    pub fn start(environment: impl Fn(&str) -> Option<String>) -> Result<Result<Self, Absent>, Failure> {
        let place = |name: &str| environment(name).filter(|place| !place.is_empty()).map(PathBuf::from);
        let found = ["CLAIMSTREAM_CHROMIUM", "CLAIMSTREAM_CHROMEDRIVER", "CLAIMSTREAM_AXE"].map(place);
        let [Some(browser), Some(driver), Some(axe)] = found else { return Ok(Err(Absent)) };
        let axe = Axe::read(&axe)?;
        // The client that talks to the driver wants a provider of TLS even for plain HTTP, where other crates of the build have left out its
        // own. That one is there already is no fault.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("the driver of Chromium cannot be started: {e}"))?;
        let port = port(&mut driver)?;
        let address = format!("http://127.0.0.1:{port}");
        Ok(Ok(Self { browser, axe, driver: driver.into(), address }))
    }

    /// Opens a browser of its own, with no cookie and no history.
    pub async fn session(&self) -> Result<Session, Failure> {
        let mut wanted = DesiredCapabilities::chrome();
        let browser = self.browser.to_str().ok_or("the path of Chromium is no text")?;
        wanted.set_binary(browser)?;
        for argument in Self::ARGUMENTS {
            wanted.add_arg(argument)?;
        }
        wanted.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        let driver = WebDriver::new(&self.address, wanted).await?;
        Session::begin(driver, self.axe.clone()).await
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let driver = self.driver.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        let _ = driver.kill();
        let _ = driver.wait();
    }
}

/// The port that the driver has chosen, which it says at its start. What else it says is read and left.
fn port(driver: &mut Child) -> Result<u16, Failure> {
    let output = driver.stdout.take().ok_or("the driver has no output")?;
    let mut lines = BufReader::new(output).lines();
    let said =
        lines.by_ref().map_while(Result::ok).find(|line| line.contains("started successfully on port"));
    let said = said.ok_or("the driver of Chromium ended without saying its port")?;
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|_| ()));
    let port = said.trim_end_matches('.').rsplit(' ').next().and_then(|port| port.parse().ok());
    port.ok_or_else(|| format!("the driver named no port: {said}").into())
}
