use claimstream_domain::{Headers, Invalid};
use opentelemetry::{
    Context, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, TraceContextExt, TraceState},
};

/// Writes the current span into the headers of a message, so that handling it belongs to the same trace.
///
/// It takes the place of a trace context that the headers have already. Without a current span they stay as they are. Fails if the headers
/// would be longer than [`Headers::MAX_BYTES`], and then changes nothing.
pub fn carry_trace(headers: &mut Headers) -> Result<(), Invalid> {
    carry(headers, Context::current().span().span_context())
}

/// The current span as the header `traceparent` names it, for calls to others; `None` without one.
pub fn current_traceparent() -> Option<String> {
    Context::map_current(|context| {
        let span = context.span();
        let span = span.span_context();
        span.is_valid().then(|| traceparent(span).iter().copied().map(char::from).collect())
    })
}

/// A span as `traceparent` names it, in ASCII.
///
/// Each message has one written, and formatting its ids as numbers would cost half of that.
fn traceparent(span: &SpanContext) -> [u8; 55] {
    let mut text = *b"00-................................-................-00";
    write_hex(&mut text[3..35], &span.trace_id().to_bytes());
    write_hex(&mut text[36..52], &span.span_id().to_bytes());
    text[54] += u8::from(span.is_sampled());
    text
}

/// Two digits for each byte.
fn write_hex(text: &mut [u8], bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

/// Writes a span into headers; one that is not valid changes nothing.
pub(crate) fn carry(headers: &mut Headers, span: &SpanContext) -> Result<(), Invalid> {
    if !span.is_valid() {
        return Ok(());
    }
    let state = span.trace_state().header();
    let traceparent = traceparent(span);
    // It is ASCII; other text would be refused by the headers.
    let traceparent = str::from_utf8(&traceparent).unwrap_or_default();
    headers.set_trace(traceparent, (!state.is_empty()).then_some(state.as_str()))
}

/// The span that headers name; `None` if they name none, or it cannot be read.
///
/// Source: W3C Trace Context, section 3.2. Later versions may add parts, which are not read.
pub(crate) fn carried(headers: &Headers) -> Option<SpanContext> {
    let (mut parent, mut state) = (None, None);
    for (name, value) in headers.iter() {
        match name {
            "traceparent" => parent = Some(value),
            "tracestate" => state = Some(value),
            _ => {}
        }
    }
    let text = parent?.as_bytes();
    let has_dashes = text.len() >= 55 && [2, 35, 52].iter().all(|place| text[*place] == b'-');
    if !has_dashes || text.get(55).is_some_and(|more| *more != b'-') {
        return None;
    }
    let (high, low) = (number(&text[3..19])?, number(&text[19..35])?);
    let trace = TraceId::from(u128::from(high) << 64 | u128::from(low));
    let span = SpanId::from(number(&text[36..52])?);
    let flags = u8::from_str_radix(str::from_utf8(&text[53..55]).ok()?, 16).ok()?;
    let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    let state: TraceState = state.and_then(|state| state.parse().ok()).unwrap_or_default();
    let context = SpanContext::new(trace, span, flags, true, state);
    context.is_valid().then_some(context)
}

/// The number of sixteen digits in lower case.
fn number(digits: &[u8]) -> Option<u64> {
    let (high, low) = digits.split_first_chunk()?;
    let (high, low) = (half(*high)?, half(low.try_into().ok()?)?);
    Some(u64::from(high) << 32 | u64::from(low))
}

/// The number of eight digits in lower case, all at once: each message that carries a trace has 48 of them read, and one by one they would be
/// most of what it costs.
fn half(digits: [u8; 8]) -> Option<u32> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let text = u64::from_be_bytes(digits);
    // Bit 6 of the letters `a` to `f` is set, that of the digits `0` to `9` is not.
    let letters = text >> 6 & ONES;
    let values = (text & (15 * ONES)) + 9 * letters;
    let is_each_its_own = values + 0x30 * ONES + 0x27 * letters == text;
    let are_letters_ten_or_more = (values + 6 * ONES) >> 4 & (15 * ONES) == letters;
    if !is_each_its_own || !are_letters_ten_or_more || values & (0xf0 * ONES) != 0 {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((fours | fours >> 16) & 0xffff_ffff).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_goes_into_headers_and_comes_out_of_them() {
        let (trace, span) = (TraceId::from(7), SpanId::from(9));
        let state: TraceState = "vendor=1".parse().expect("a state");
        for flags in [TraceFlags::SAMPLED, TraceFlags::default()] {
            let context = SpanContext::new(trace, span, flags, true, state.clone());
            let mut headers = Headers::new();
            carry(&mut headers, &context).expect("room");
            assert_eq!(carried(&headers), Some(context));
        }
    }

    #[test]
    fn the_digits_of_a_traceparent_are_its_ids_and_parts_of_later_versions_are_not_read() {
        let (trace, span) = (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331);
        let mut headers = Headers::new();
        for (text, flags) in [
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceFlags::SAMPLED),
            ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02-more", TraceFlags::default()),
        ] {
            headers.insert("traceparent", text).expect("a header");
            let expected = SpanContext::new(trace.into(), span.into(), flags, true, TraceState::default());
            assert_eq!(carried(&headers), Some(expected), "{text}");
        }
    }

    #[test]
    fn eight_digits_at_once_are_the_number_that_one_by_one_they_are() {
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut digits = *b"09af5a1e";
                digits[place] = byte;
                let is_digit = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                let text = str::from_utf8(&digits).ok().filter(|_| is_digit);
                assert_eq!(
                    half(digits),
                    text.and_then(|text| u32::from_str_radix(text, 16).ok()),
                    "{digits:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_span_changes_nothing_and_is_none() {
        let mut headers = Headers::new();
        carry(&mut headers, &SpanContext::empty_context()).expect("nothing to do");
        carry_trace(&mut headers).expect("nothing to do");
        assert!(headers.is_empty());
        assert_eq!(carried(&headers), None);
        for wrong in [
            "x",
            "00-x-1-01",
            "00-1-x-01",
            "00-1-1",
            "00-0-0-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        ] {
            headers.insert("traceparent", wrong).expect("a header");
            assert_eq!(carried(&headers), None, "{wrong}");
        }
    }
}
