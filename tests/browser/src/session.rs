use std::ops::Deref;

use serde_json::{Value, json};
use thirtyfour::{By, WebDriver, WebElement};

use crate::{Axe, Failure, Findings, eventually};

/// A browser with one window, as one person has it.
#[derive(Clone)]
pub struct Session {
    driver: WebDriver,
    axe: Axe,
}

/// Runs in each page before anything else, and notes what the page's policy has kept from it.
const NOTE_VIOLATIONS: &str = r"
    window.kept = [];
    document.addEventListener('securitypolicyviolation', event =>
        window.kept.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
";

impl Session {
    pub(crate) async fn begin(driver: WebDriver, axe: Axe) -> Result<Self, Failure> {
        let session = Self { driver, axe };
        session.tools("Page.enable", json!({})).await?;
        session.tools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": NOTE_VIOLATIONS })).await?;
        session.desktop().await?;
        Ok(session)
    }

    /// Closes the browser.
    pub async fn end(self) -> Result<(), Failure> {
        Ok(self.driver.quit().await?)
    }

    /// A command to the developer tools, whose answer the caller discards.
    pub async fn tools(&self, command: &str, arguments: Value) -> Result<(), Failure> {
        self.driver.cdp().send_raw(command, arguments).await?;
        Ok(())
    }

    /// A large screen.
    pub async fn desktop(&self) -> Result<(), Failure> {
        self.screen(1280, 900, false).await
    }

    /// The screen of a small phone.
    pub async fn phone(&self) -> Result<(), Failure> {
        self.screen(360, 740, true).await
    }

    async fn screen(&self, width: u32, height: u32, mobile: bool) -> Result<(), Failure> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.tools("Emulation.setDeviceMetricsOverride", metrics).await
    }

    /// Whether the system is `light` or `dark`.
    pub async fn scheme(&self, scheme: &str) -> Result<(), Failure> {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.tools("Emulation.setEmulatedMedia", json!({ "features": [feature] })).await
    }

    /// Runs no script of any page from now on.
    pub async fn without_scripts(&self) -> Result<(), Failure> {
        self.tools("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await
    }

    /// What axe-core says of the page.
    pub async fn findings(&self) -> Result<Findings, Failure> {
        self.axe.look_at(self).await
    }

    /// Clicks, and waits until another page is there.
    pub async fn click(&self, element: &WebElement) -> Result<(), Failure> {
        self.leave_by(async { Ok(element.click().await?) }).await
    }

    /// Does what leads to another page, and waits until that is there.
    pub async fn leave_by(&self, deed: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
        self.execute("window.isLeft = true", []).await?;
        deed.await?;
        self.arrive().await
    }

    /// Waits until the page that was marked as left has been replaced by a whole one.
    async fn arrive(&self) -> Result<(), Failure> {
        let is_there = "return window.isLeft === undefined && document.readyState === 'complete'";
        let has_come = || async { Ok::<bool, Failure>(self.execute(is_there, []).await?.convert()?) };
        eventually("another page comes after a click", has_come).await
    }

    /// What the policy of the page has kept from it, and what its scripts have said.
    pub async fn complaints(&self) -> Result<Vec<String>, Failure> {
        let kept = self.execute("return window.kept ?? ['nothing is noted']", []).await?;
        let mut complaints: Vec<String> = kept.convert()?;
        let said = self.driver.browser_log().await?.into_iter().map(|entry| entry.message);
        // A page that refuses something answers so.
        complaints.extend(said.filter(|said| !said.contains("the server responded with a status of 4")));
        Ok(complaints)
    }

    /// The text of the first element that fits.
    pub async fn text(&self, css: &str) -> Result<String, Failure> {
        Ok(self.driver.find(By::Css(css)).await?.text().await?)
    }

    /// The text of what the page is about.
    pub async fn main(&self) -> Result<String, Failure> {
        self.text("main").await
    }

    /// Whether any element fits.
    pub async fn has(&self, css: &str) -> Result<bool, Failure> {
        Ok(!self.driver.find_all(By::Css(css)).await?.is_empty())
    }

    /// Clicks the first link with this text.
    pub async fn follow(&self, text: &str) -> Result<(), Failure> {
        self.click_one("a[href]", text).await
    }

    /// Clicks the first button with this text.
    pub async fn press(&self, text: &str) -> Result<(), Failure> {
        self.click_one("button", text).await
    }

    async fn click_one(&self, css: &str, text: &str) -> Result<(), Failure> {
        let found = self.one_with_text(css, text).await?;
        let element = found.ok_or_else(|| format!("no {css} says {text:?}"))?;
        self.click(&element).await
    }

    /// The first element that fits and has this text.
    pub async fn one_with_text(&self, css: &str, text: &str) -> Result<Option<WebElement>, Failure> {
        for element in self.driver.find_all(By::Css(css)).await? {
            if element.text().await?.trim() == text {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }

    /// Signs in on the page that asks for a token.
    pub async fn sign_in(&self, token: &str) -> Result<(), Failure> {
        self.driver.find(By::Id("token")).await?.send_keys(token).await?;
        self.press("Sign in").await
    }
}

impl Deref for Session {
    type Target = WebDriver;

    fn deref(&self) -> &WebDriver {
        &self.driver
    }
}
