//! Every page: reached by clicks, without barriers in light and in dark, on a phone, and with a picture.
//! Promise: axe-core finds no barrier on any page of the board, in light, in dark and on a phone; clicks
//! reach every page, each fits a screen of 360 px, and a page reloads itself only as long as its visitor
//! wants

use claimstream_browser_tests::{Site, Walk, eventually};

use crate::{
    Case, Outcome, Visit, cases,
    examined::{faults_of, has_no_faults},
};

pub(crate) fn cases() -> Vec<(&'static str, Case)> {
    cases!["pages":
        every_page_is_reached_by_clicks_and_has_no_barriers,
        the_last_hour_of_a_queue_is_drawn,
        a_page_reloads_itself_only_while_its_user_wants_it,
    ]
}

/// Guard: soft text has enough contrast in dark mode | adapters/board/assets/board.css: `--soft` is #464b52
/// Guard: long names wrap | adapters/board/assets/board.css: no `overflow-wrap` for headings
async fn every_page_is_reached_by_clicks_and_has_no_barriers(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    let (mut walk, mut shapes, mut faults) = (Walk::from(&site.at("/")), Vec::new(), Vec::new());
    while let Some(stop) = walk.next(session).await? {
        let name = format!("{:02} {}", shapes.len(), stop.shape);
        faults.extend(faults_of(&visit, &name).await?.into_iter().map(|fault| format!("{name}: {fault}")));
        shapes.push(stop.shape);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let expected = [
        "/",
        "/queue?queue=orders",
        "/doctor",
        "/audit",
        "/dead",
        "/dead?queue=orders",
        "/dead/letters?queue=orders",
        "/dead/letters/#",
        "/find",
        "/message/#",
        "/requests",
        "/requests/#",
        "/requests/#?after",
        "/instances",
        "/leases",
        "/leases?queue=leased",
        "POST /leases/preview?queue=leased&shard&fence",
        "/locks",
        "POST /locks/preview?key&fence",
        "/sagas",
        "/sagas/one?id&scope",
        "POST /sagas/preview?scope&id",
        "/tcc",
        "/tcc/branches",
        "/tcc/one?id",
        "/timers",
        "/timers/events",
        "/timers/event?occurrence&scheme",
    ];
    for expected in expected {
        assert!(shapes.iter().any(|shape| shape == expected), "{expected} was not reached: {shapes:#?}");
    }
    Ok(())
}

async fn the_last_hour_of_a_queue_is_drawn(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/")).await?;
    session.follow("orders").await?;
    // The board counts every 15 seconds, and a line needs two points.
    let is_drawn = || async {
        session.refresh().await?;
        session.has("svg.chart g.line1 polyline").await
    };
    eventually("a line is drawn", is_drawn).await?;
    let heights: Vec<f64> = session
        .execute(
            "return [...document.querySelectorAll('svg.chart')].map(it => it.getBoundingClientRect().height)",
            [],
        )
        .await?
        .convert()?;
    assert!(heights.len() == 3 && heights.iter().all(|height| *height > 60.0), "{heights:?}");
    has_no_faults(&visit, "the last hour").await
}

async fn a_page_reloads_itself_only_while_its_user_wants_it(visit: Visit) -> Outcome {
    let (site, session) = (Site::for_everyone().await?, &visit.session);
    session.goto(site.at("/")).await?;
    assert!(!session.has(RELOADS).await?, "no user has asked for it");
    session.follow("Refresh it every few seconds").await?;
    assert!(session.has(RELOADS).await?);
    session.follow("Stop refreshing").await?;
    assert!(!session.has(RELOADS).await?);
    Ok(())
}

const RELOADS: &str = "meta[http-equiv=refresh]";
