//! Traces in headers: W3C's `traceparent` and `tracestate`, as HTTP and Kafka have them, and beside an announcement of
//! which entries they are. Whoever calls us writes what they like there: what is no context says nothing.

use std::sync::Arc;

use model::{
    EntryKey,
    limits::TRACES_MAX,
    trace::{EntryTraces, TraceContext, TraceParent},
};

use crate::replay::WireHeaders;

/// Of which span a record or request comes.
pub const TRACEPARENT: &str = "traceparent";
/// What the caller's system adds to it.
pub const TRACESTATE: &str = "tracestate";
/// Beside a `traceparent` before it: the key of the entry that it is of, in hexadecimal digits.
pub const TRACED_ENTRY: &str = "tidings-traced";

/// More of it nobody has to hand on.
const STATE_BYTES_MAX: usize = 512;
/// `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
const PARENT_BYTES: usize = 55;
const SAMPLED: u8 = 1;

/// The parent that headers name, if they name one.
pub fn read_parent(headers: &[(String, Vec<u8>)]) -> Option<TraceParent> {
    let mut named = headers.iter().filter(|(name, _)| name == TRACEPARENT);
    let (_, text) = named.next()?;
    // Two parents are none.
    if named.next().is_some() {
        return None;
    }
    let states = headers.iter().filter(|(name, _)| name == TRACESTATE).map(|(_, state)| state.as_slice());
    parse_parent(text, states)
}

/// The same of a text, and of the states beside it.
pub fn parse_parent<'a>(text: &[u8], states: impl Iterator<Item = &'a [u8]>) -> Option<TraceParent> {
    let (context, flags) = parse_context(text)?;
    Some(TraceParent { context, is_sampled: flags & SAMPLED != 0, state: join_states(states) })
}

/// The headers of what comes of a span.
pub fn parent_headers(context: TraceContext, state: Option<&Arc<str>>) -> WireHeaders {
    let mut headers = vec![(TRACEPARENT.to_owned(), write_context(context).into_bytes())];
    headers.extend(state.map(|state| (TRACESTATE.to_owned(), state.as_bytes().to_vec())));
    headers
}

/// The headers of an announcement of these entries.
pub fn entry_headers(traces: &EntryTraces) -> WireHeaders {
    let header = |(key, context): (&EntryKey, &TraceContext)| {
        let parent = (TRACEPARENT.to_owned(), write_context(*context).into_bytes());
        [parent, (TRACED_ENTRY.to_owned(), write_digits(&key.to_bytes()).into_bytes())]
    };
    traces.iter().take(TRACES_MAX).flat_map(header).collect()
}

/// The entries that an announcement says are traced.
pub fn read_entries(headers: &[(String, Vec<u8>)]) -> EntryTraces {
    let pair = |pair: &[(String, Vec<u8>)]| {
        let [(parent, context), (entry, key)] = pair else { return None };
        if parent != TRACEPARENT || entry != TRACED_ENTRY {
            return None;
        }
        let (context, _) = parse_context(context).filter(|(_, flags)| flags & SAMPLED != 0)?;
        Some((EntryKey::from_bytes(&parse_digits::<24>(key)?)?, context))
    };
    headers.windows(2).filter_map(pair).take(TRACES_MAX).collect()
}

/// A version above ours may have more behind the flags; ours has not.
fn parse_context(text: &[u8]) -> Option<(TraceContext, u8)> {
    let (known, more) = text.split_at_checked(PARENT_BYTES)?;
    let [version] = parse_digits::<1>(&known[..2])?;
    let ends = if version == 0 { more.is_empty() } else { more.is_empty() || more[0] == b'-' };
    let dashes = [2, 35, 52].iter().all(|at| known[*at] == b'-');
    if version == 0xFF || !ends || !dashes {
        return None;
    }
    let (trace, span) = (parse_digits(&known[3..35])?, parse_digits(&known[36..52])?);
    let [flags] = parse_digits::<1>(&known[53..])?;
    let is_one = trace != [0; 16] && span != [0; 8];
    is_one.then_some((TraceContext { trace, span }, flags))
}

fn write_context(TraceContext { trace, span }: TraceContext) -> String {
    format!("00-{}-{}-01", write_digits(&trace), write_digits(&span))
}

fn write_digits(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0F)]).collect()
}

/// Lower case alone, as W3C has it.
fn parse_digits<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

/// Several are one, joined. One that has what no header has, or is too long, is dropped; the parent still holds.
fn join_states<'a>(states: impl Iterator<Item = &'a [u8]>) -> Option<Arc<str>> {
    let mut joined = String::new();
    for state in states {
        let text = str::from_utf8(state).ok()?.trim();
        if joined.len() + text.len() >= STATE_BYTES_MAX || !text.bytes().all(|b| matches!(b, 0x20..=0x7E)) {
            return None;
        }
        if !joined.is_empty() && !text.is_empty() {
            joined.push(',');
        }
        joined.push_str(text);
    }
    (!joined.is_empty()).then(|| joined.into())
}

#[cfg(test)]
mod tests {
    use model::{EventKey, UtcMillis};
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(named: &[(&str, &str)]) -> WireHeaders {
        named.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_parent_is_read_as_w3c_has_it_and_anything_else_is_none() {
        let check = |text: &str, expect: Option<bool>| {
            let read = read_parent(&headers(&[(TRACEPARENT, text)]));
            assert_eq!(read.map(|parent| parent.is_sampled), expect, "{text:?}");
        };
        check(GOOD, Some(true));
        check(&GOOD.replace("-01", "-00"), Some(false));
        check(&GOOD.replace("-01", "-ff"), Some(true));
        check(&GOOD.replacen("00", "cc", 1), Some(true));
        check(&format!("{}-more", GOOD.replacen("00", "01", 1)), Some(true));
        for odd in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
            "00-ä7ad6b7169203331ä7ad6b7169203331-b7ad6b7169203331-01",
        ] {
            check(odd, None);
        }
        check(&"0".repeat(1 << 20), None);
        assert_eq!(read_parent(&headers(&[(TRACEPARENT, GOOD), (TRACEPARENT, GOOD)])), None);
    }

    #[test]
    fn a_state_goes_on_as_it_is_or_not_at_all() {
        let check = |states: &[&str], expect: Option<&str>| {
            let named = states.iter().map(|state| (TRACESTATE, *state));
            let all: Vec<_> = std::iter::once((TRACEPARENT, GOOD)).chain(named).collect();
            let parent = read_parent(&headers(&all)).unwrap();
            assert_eq!(parent.state.as_deref(), expect, "{states:?}");
            let again = parent_headers(parent.context, parent.state.as_ref());
            assert_eq!(read_parent(&again), Some(parent), "{states:?}");
        };
        check(&[], None);
        check(&[""], None);
        check(&["congo=t61rcWkgMzE"], Some("congo=t61rcWkgMzE"));
        check(&["a=1,b=2", "c=3"], Some("a=1,b=2,c=3"));
        check(&["a=1\r\nx: y"], None);
        check(&["a=ä"], None);
        check(&[&"a".repeat(512)], None);
    }

    #[test]
    fn an_announcement_says_which_of_its_entries_are_traced() {
        let key = |n: u8| EntryKey { occurred: UtcMillis(i64::from(n)), event: EventKey([n; 16]) };
        let context = |n: u8| TraceContext { trace: [n; 16], span: [n; 8] };
        let traces: EntryTraces = (1..40).map(|n| (key(n), context(n))).collect();
        let few: EntryTraces = traces.iter().take(2).map(|(key, context)| (*key, *context)).collect();
        let mut all = entry_headers(&few);
        all.insert(0, ("tidings-edition".to_owned(), b"3-5".to_vec()));
        assert_eq!(read_entries(&all), few);
        assert_eq!(read_entries(&entry_headers(&traces)).len(), TRACES_MAX, "they have an end");
        let digits = write_digits(&key(1).to_bytes());
        for odd in [
            headers(&[(TRACED_ENTRY, &digits)]),
            headers(&[(TRACEPARENT, GOOD), (TRACED_ENTRY, "5")]),
            headers(&[(TRACED_ENTRY, &digits), (TRACEPARENT, GOOD)]),
            headers(&[(TRACEPARENT, &GOOD.replace("-01", "-00")), (TRACED_ENTRY, &digits)]),
        ] {
            assert_eq!(read_entries(&odd), EntryTraces::new(), "{odd:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(
            all in prop::collection::vec((prop::sample::select(vec![TRACEPARENT, TRACESTATE, TRACED_ENTRY]), any::<Vec<u8>>()), 0..5),
        ) {
            let all: WireHeaders = all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            drop((read_parent(&all), read_entries(&all)));
        }

        #[test]
        fn what_is_written_is_read(trace in any::<[u8; 16]>(), span in any::<[u8; 8]>()) {
            prop_assume!(trace != [0; 16] && span != [0; 8]);
            let context = TraceContext { trace, span };
            let parent = read_parent(&parent_headers(context, None)).unwrap();
            prop_assert_eq!(parent, TraceParent { context, is_sampled: true, state: None });
        }
    }
}
