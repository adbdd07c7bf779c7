//! The relaxed canonical forms of RFC 6376, 3.4.

use memchr::{memchr_iter, memchr2, memmem};

/// Headers and body of a mail, without the empty line between.
pub(super) fn split_mail(mail: &[u8]) -> (&[u8], &[u8]) {
    match memmem::find(mail, b"\r\n\r\n") {
        Some(end) => (&mail[..end + 2], &mail[end + 4..]),
        None => (mail, &[]),
    }
}

/// Each header's name and value, in order.
pub(super) fn canonical_headers(bytes: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(bytes);
    let mut fields: Vec<String> = Vec::new();
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        match fields.last_mut() {
            Some(field) if line.starts_with([' ', '\t']) => field.push_str(line),
            _ => fields.push(line.to_owned()),
        }
    }
    let parts = fields.iter().filter_map(|field| field.split_once(':'));
    parts.map(|(name, of)| (name.trim_end().to_ascii_lowercase(), canonical_value(of))).collect()
}

/// A value on one line, each stretch of blanks one blank, none at its edges.
pub(super) fn canonical_value(text: &str) -> String {
    let words = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The body, piece by piece: no blanks at ends of lines, one for each stretch of them, no empty lines at its end.
pub(super) fn canonical_body(bytes: &[u8], mut take: impl FnMut(&[u8])) {
    let (mut empty, mut begin) = (0, 0);
    for end in memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        let line = &bytes[std::mem::replace(&mut begin, end + 1)..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let length = line.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
        if length == 0 {
            empty += 1;
            continue;
        }
        (0..std::mem::take(&mut empty)).for_each(|_| take(b"\r\n"));
        collapse_blanks(&line[..length], &mut take);
        take(b"\r\n");
    }
}

/// A line with one blank for each stretch of them.
fn collapse_blanks(line: &[u8], take: &mut impl FnMut(&[u8])) {
    let (mut from, mut looked) = (0, 0);
    while let Some(found) = memchr2(b' ', b'\t', &line[looked..]) {
        let begin = looked + found;
        looked = begin + line[begin..].iter().take_while(|byte| is_blank(**byte)).count();
        if line[begin..looked] != *b" " {
            take(&line[from..begin]);
            take(b" ");
            from = looked;
        }
    }
    take(&line[from..]);
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_as_the_standard_has_them() {
        let check = |text: &str, expected: &str| {
            let mut found = Vec::new();
            canonical_body(text.as_bytes(), |piece| found.extend_from_slice(piece));
            assert_eq!(String::from_utf8_lossy(&found), expected, "{text:?}");
        };
        // RFC 6376, 3.4.5.
        check(" C \r\nD \t E\r\n\r\n\r\n", " C\r\nD E\r\n");
        check("", "");
        check("\r\n\r\n", "");
        check("a", "a\r\n");
        check("a \t\r\n \t\r\nb\r\n \r\n", "a\r\n\r\nb\r\n");
    }

    #[test]
    fn headers_as_the_standard_has_them() {
        let (top, rest) = split_mail(b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\n");
        assert_eq!(
            canonical_headers(top),
            [("a".to_owned(), "X".to_owned()), ("b".to_owned(), "Y Z".to_owned())]
        );
        assert_eq!(rest, b" C \r\n");
    }
}
