//! The relaxed canonical forms of RFC 6376, 3.4.

/// Headers and body of a mail, without the empty line between.
pub(super) fn split(mail: &[u8]) -> (&[u8], &[u8]) {
    match mail.windows(4).position(|four| four == b"\r\n\r\n") {
        Some(end) => (&mail[..end + 2], &mail[end + 4..]),
        None => (mail, &[]),
    }
}

/// Each header's name and value, in order.
pub(super) fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(bytes);
    let mut fields: Vec<String> = Vec::new();
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        match fields.last_mut() {
            Some(field) if line.starts_with([' ', '\t']) => field.push_str(line),
            _ => fields.push(line.to_owned()),
        }
    }
    let parts = fields.iter().filter_map(|field| field.split_once(':'));
    parts.map(|(name, of)| (name.trim_end().to_ascii_lowercase(), value(of))).collect()
}

/// A value on one line, each stretch of blanks one blank, none at its edges.
pub(super) fn value(text: &str) -> String {
    let words = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The body: no blanks at ends of lines, one for each stretch of them, no empty lines at its end.
pub(super) fn body(bytes: &[u8]) -> Vec<u8> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut out = Vec::with_capacity(bytes.len() + 2);
    // Where the last line ends that is not empty.
    let mut end = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut rest = line.strip_suffix(b"\r").unwrap_or(line);
        while let Some(first) = rest.first() {
            let (is_gap, length) = match is_blank(first) {
                true => (true, rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len())),
                false => (false, rest.iter().position(is_blank).unwrap_or(rest.len())),
            };
            let (piece, more) = rest.split_at(length);
            if !is_gap {
                out.extend_from_slice(piece);
                end = out.len();
            } else if !more.is_empty() {
                out.push(b' ');
            }
            rest = more;
        }
        out.extend_from_slice(b"\r\n");
    }
    out.truncate(end);
    if end > 0 {
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_as_the_standard_has_them() {
        let check = |text: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&body(text.as_bytes())), expected, "{text:?}");
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
        let (top, rest) = split(b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\n");
        assert_eq!(headers(top), [("a".to_owned(), "X".to_owned()), ("b".to_owned(), "Y Z".to_owned())]);
        assert_eq!(rest, b" C \r\n");
    }
}
