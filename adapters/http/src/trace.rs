use axum::http::HeaderMap;
use claimstream_domain::Headers;

/// Gives a notification the trace of the call that brings it, unless it names one itself. A trace that cannot be read, or for which there is no
/// room, is left out.
///
/// Source: W3C Trace Context, sections 3.2 and 3.3.
pub(crate) fn adopt(headers: &mut Headers, call: &HeaderMap) {
    if headers.get("traceparent").is_some() {
        return;
    }
    let text = |name| call.get(name).and_then(|value| value.to_str().ok());
    let Some(traceparent) = text("traceparent") else { return };
    // A state that is refused is lost by itself.
    if headers.set_trace(traceparent, text("tracestate")).is_err() {
        let _ = headers.set_trace(traceparent, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const OWN: &str = "00-11111111111111111111111111111111-2222222222222222-01";

    fn call(traceparent: &str, state: &str) -> HeaderMap {
        let mut call = HeaderMap::new();
        call.insert("traceparent", traceparent.parse().unwrap());
        call.insert("tracestate", state.parse().unwrap());
        call
    }

    #[test]
    fn a_notification_without_a_trace_has_that_of_its_call() {
        let mut headers = Headers::new();
        adopt(&mut headers, &call(CALLER, "vendor=1"));
        assert_eq!((headers.get("traceparent"), headers.get("tracestate")), (Some(CALLER), Some("vendor=1")));
        let mut own = Headers::new();
        own.set_trace(OWN, None).unwrap();
        adopt(&mut own, &call(CALLER, "vendor=1"));
        assert_eq!((own.get("traceparent"), own.get("tracestate")), (Some(OWN), None));
    }

    #[test]
    fn what_cannot_be_read_or_kept_is_left_out() {
        let mut headers = Headers::new();
        adopt(&mut headers, &HeaderMap::new());
        adopt(&mut headers, &call("00-x-y-01", "vendor=1"));
        assert!(headers.is_empty());
        adopt(&mut headers, &call(CALLER, &"s".repeat(Headers::MAX_BYTES)));
        assert_eq!((headers.get("traceparent"), headers.get("tracestate")), (Some(CALLER), None));
    }
}
