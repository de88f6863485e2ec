use claimstream_domain::notification::{NotificationRequest, TemplateFault};

use claimstream_ports::within;

use crate::{
    problem::{Fault, Problem},
    state::AppState,
};

/// Refuses a request that its template could never carry out, each fault with its place.
///
/// A request that was taken in before is let through, so that its caller gets the answer of the first call, whatever has become of the
/// template. One whose template cannot be asked about now is let through as well: the fan-out checks again.
pub(super) async fn check(
    state: &AppState,
    request: &NotificationRequest,
    may_be_known: bool,
) -> Result<(), Problem> {
    let Some(check) = state.stores.template_check.as_ref().filter(|_| request.template.is_some()) else {
        return Ok(());
    };
    let fault = match within(&*state.timer, state.limits.timeout, check.fault(request)).await {
        Some(Ok(None)) => return Ok(()),
        Some(Ok(Some(fault))) => fault,
        Some(Err(error)) => {
            tracing::warn!(%error, "a request was not checked against its template");
            return Ok(());
        }
        None => {
            tracing::warn!("a request was not checked against its template: that takes too long");
            return Ok(());
        }
    };
    if may_be_known {
        let known = state.ask(state.stores.requests.read(&[request.id])).await?;
        if known.into_iter().flatten().next().is_some() {
            return Ok(());
        }
    }
    Err(Problem::invalid_at(fault.to_string(), places(&fault)))
}

fn places(fault: &TemplateFault) -> Vec<Fault> {
    let detail = fault.to_string();
    match fault {
        TemplateFault::Unknown { .. } | TemplateFault::Unusable { .. } => {
            vec![Fault::at("/template/id", detail)]
        }
        TemplateFault::NoText { .. } => vec![Fault::at("/channels", detail)],
        TemplateFault::Surplus { id, names } => {
            let fault = |name: &String| {
                let place = name.replace('~', "~0").replace('/', "~1");
                Fault::at(
                    format!("/template/params/{place}"),
                    format!("the template {id:?} has no variable {name:?}"),
                )
            };
            names.iter().map(fault).collect()
        }
        TemplateFault::Missing { id, names } => {
            let fault = |name: &String| {
                Fault::at("/template/params", format!("the template {id:?} needs a value for {name:?}"))
            };
            names.iter().map(fault).collect()
        }
    }
}
