//! What each page is examined for.

use claimstream_browser_tests::{Failure, Findings, Session};

use crate::{Outcome, Visit};

/// Fails if anything is wrong with the page that a session shows.
pub(crate) async fn has_no_faults(visit: &Visit, name: &str) -> Outcome {
    let faults = faults_of(visit, name).await?;
    assert!(faults.is_empty(), "{name}: {}", faults.join("\n"));
    Ok(())
}

/// What is wrong with the page that a session shows.
pub(crate) async fn faults_of(visit: &Visit, name: &str) -> Result<Vec<String>, Failure> {
    let session = &visit.session;
    // A page that reloads itself would do it in the middle.
    session.execute("window.stop()", []).await?;
    let mut faults = Vec::new();
    for scheme in ["light", "dark"] {
        session.scheme(scheme).await?;
        if ground(session).await? != scheme {
            faults.push(format!("the page is not {scheme}"));
        }
        let Findings { rules, barriers, doubts } = session.findings().await?;
        if rules < 10 {
            faults.push(format!("axe-core had only {rules} rules to apply"));
        }
        let found = barriers.into_iter().chain(doubts);
        faults.extend(found.filter(|it| !is_allowed(it)).map(|it| format!("{scheme}: {it}")));
        visit.screenshots.take(session, &format!("{name} {scheme}")).await?;
    }
    session.scheme("light").await?;
    session.phone().await?;
    let width: u64 = session.execute("return document.documentElement.scrollWidth", []).await?.convert()?;
    if width > 360 {
        faults.push(format!("on a phone the page is {width} px wide"));
    }
    let barriers = session.findings().await?.barriers;
    faults.extend(barriers.into_iter().filter(|it| !is_allowed(it)).map(|it| format!("phone: {it}")));
    visit.screenshots.take(session, &format!("{name} phone")).await?;
    session.desktop().await?;
    faults.extend(session.complaints().await?);
    Ok(faults)
}

/// A single character is text here, a count. And WCAG 2.2.1 allows a page to reload itself if people choose it, which axe-core cannot know;
/// `a_page_reloads_itself_only_while_its_user_wants_it` holds that.
fn is_allowed(finding: &str) -> bool {
    finding.ends_with("too short to determine if it is actual text content")
        || finding.starts_with("meta-refresh: ")
}

/// Whether the ground of the page is `light` or `dark`.
async fn ground(session: &Session) -> Result<String, Failure> {
    let ground = "const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number); \
                  return r + g + b > 600 ? 'light' : r + g + b < 150 ? 'dark' : 'between'";
    Ok(session.execute(ground, []).await?.convert()?)
}
