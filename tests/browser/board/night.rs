//! A night: something goes wrong, an alert fires, a page of the board shows why, and an action on it mends it. The real program, a real
//! Prometheus with the shipped rules, and pictures of each step.
//! Promise: when a relay hangs, a queue is idle, a provider refuses and a saga is stuck, the shipped alert
//! fires for each, a page of the board shows why, and an action there repairs it, with the real program,
//! Prometheus and Chromium

mod saga;
mod shop;

use claimstream_browser_tests::{Failure, Mood, Session, eventually};
use thirtyfour::By;

use self::{saga::Transfers, shop::Shop};
use crate::{Case, Outcome, Visit, cases};

pub(crate) fn cases() -> Vec<(&'static str, Case)> {
    cases!["night":
        a_relay_is_wedged_and_its_leases_are_released,
        a_queue_stands_still_and_is_resumed,
        a_provider_refuses_and_its_dead_letters_are_revived,
        a_saga_is_stuck_and_is_continued,
    ]
}

/// Each step of a night has a picture.
async fn picture(visit: &Visit, name: &str) -> Outcome {
    visit.screenshots.take(&visit.session, &format!("night {name}")).await
}

async fn a_relay_is_wedged_and_its_leases_are_released(visit: Visit) -> Outcome {
    let Some(mut shop) = Shop::open("shard_lease").await? else { return Ok(()) };
    shop.provider.set(Mood::Hangs);
    let wedged = shop.relay(1)?;
    shop.send(12).await?;
    eventually("the provider is asked", || async { Ok(shop.provider.asked() > 0) }).await?;
    shop.alerts.sees(&format!("claimstream_build_info{{instance='{}'}}", shop.probes(1))).await?;
    wedged.signal("STOP").await?;
    shop.provider.set(Mood::Takes);
    let said = shop.alerts.fires("ClaimstreamProcessSilent").await?;
    assert!(said.contains("does not answer"), "{said}");

    let session = &visit.session;
    shop.show(session, "/instances").await?;
    picture(&visit, "1 wedged relay, instances").await?;
    shop.show(session, "/leases").await?;
    assert!(session.main().await?.contains("notification-messages"), "{}", session.main().await?);
    picture(&visit, "1 wedged relay, leases").await?;
    let mut released = 0;
    while let Some(shard) = held_shard(session).await? {
        session.press(&shard).await?;
        picture(&visit, "1 wedged relay, release").await?;
        session.press("Release the lease").await?;
        released += 1;
        assert!(released <= 64, "there is no end of leases");
        shop.show(session, "/leases").await?;
    }
    assert!(released > 0, "no lease was held");
    let rescue = shop.relay(2)?;
    eventually("another relay delivers", || async { Ok(shop.provider.delivered() >= 12) }).await?;
    wedged.signal("CONT").await?;
    shop.alerts.ends("ClaimstreamProcessSilent").await?;
    eventually("everything is delivered", || shop.is_delivered()).await?;
    drop((wedged, rescue));
    Ok(())
}

/// The button that releases a shard with messages in flight.
async fn held_shard(session: &Session) -> Result<Option<String>, Failure> {
    let held = "return [...document.querySelectorAll('tbody tr')]
        .filter(row => row.innerText.includes('notification-messages') && row.querySelector('button')
            && [...row.cells].some(cell => cell.className === 'number' && /^in /.test(cell.innerText)))
        .map(row => row.querySelector('button').innerText.trim())[0] ?? null";
    Ok(session.execute(held, []).await?.convert()?)
}

async fn a_queue_stands_still_and_is_resumed(visit: Visit) -> Outcome {
    let Some(mut shop) = Shop::open("auto").await? else { return Ok(()) };
    let _relay = shop.relay(1)?;
    shop.run(&["pause", "notification-messages", "--by", "ann", "--why", "the provider moves"]).await?;
    shop.send(5).await?;
    let said = shop.alerts.fires("ClaimstreamPauseForgotten").await?;
    assert!(said.contains("notification-messages"), "{said}");

    let session = &visit.session;
    shop.show(session, "/").await?;
    picture(&visit, "2 standing queue, overview").await?;
    session.follow("notification-messages").await?;
    let main = session.main().await?;
    assert!(main.contains("ann") && main.contains("the provider moves"), "{main}");
    picture(&visit, "2 standing queue, why").await?;
    assert_eq!(shop.provider.delivered(), 0);
    session.press("Resume").await?;
    picture(&visit, "2 standing queue, resumed").await?;
    eventually("everything is delivered", || shop.is_delivered()).await?;
    shop.alerts.ends("ClaimstreamPauseForgotten").await
}

async fn a_provider_refuses_and_its_dead_letters_are_revived(visit: Visit) -> Outcome {
    let Some(mut shop) = Shop::open("auto").await? else { return Ok(()) };
    let _relay = shop.relay(1)?;
    shop.send(1).await?;
    eventually("a first message is delivered", || async { Ok(shop.provider.delivered() == 1) }).await?;
    // Growth is counted from what was seen at rest.
    shop.alerts.sees("count_over_time(claimstream_settled_total{outcome='dead'}[1m]) > 1").await?;
    shop.provider.set(Mood::Refuses);
    shop.send(6).await?;
    let said = shop.alerts.fires("ClaimstreamDeadLetters").await?;
    assert!(said.contains("notification-messages"), "{said}");

    let session = &visit.session;
    shop.show(session, "/dead").await?;
    session.follow("notification-messages").await?;
    let main = session.main().await?;
    assert!(main.contains("410"), "the error is named: {main}");
    picture(&visit, "3 refusing provider, errors").await?;
    shop.provider.set(Mood::Takes);
    session.press("Revive all of this queue …").await?;
    picture(&visit, "3 refusing provider, preview").await?;
    session.press("Revive 6").await?;
    eventually("everything is delivered", || shop.is_delivered()).await?;
    picture(&visit, "3 refusing provider, revived").await
}

async fn a_saga_is_stuck_and_is_continued(visit: Visit) -> Outcome {
    let Some(shop) = Shop::open("auto").await? else { return Ok(()) };
    let transfers = Transfers::begin(&shop.database("shop"), &shop.database("bank")).await?;
    let said = shop.alerts.fires("ClaimstreamSagaStuck").await?;
    assert!(said.contains("saga-alarms"), "{said}");

    let session = &visit.session;
    shop.show(session, "/sagas").await?;
    picture(&visit, "4 stuck saga, list").await?;
    session.click(&session.find(By::Css("tbody th a")).await?).await?;
    picture(&visit, "4 stuck saga, why").await?;
    transfers.mend().await?;
    session.press("Continue …").await?;
    session.press("Continue it").await?;
    picture(&visit, "4 stuck saga, continued").await?;
    eventually("the payee is paid", || transfers.is_paid()).await
}
