//! Quoted-printable (RFC 2045, 6.7). Most of a text is plain, and is copied in stretches: mails are long, and all of them
//! come by here.

/// Characters of a line.
const LINE: usize = 76;
const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// The text, its lines ended by CRLF.
pub(super) fn encode_text(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        let line = if is_last { line } else { line.strip_suffix('\r').unwrap_or(line) };
        encode_line(line.as_bytes(), &mut out);
        if !is_last {
            out.extend_from_slice(b"\r\n");
        }
    }
    out
}

fn encode_line(line: &[u8], out: &mut Vec<u8>) {
    // A blank at the end would be lost on the way.
    let (mut rest, blank) = match line.split_last() {
        Some((last @ (b' ' | b'\t'), before)) => (before, Some(*last)),
        _ => (line, None),
    };
    let mut column = 0;
    while !rest.is_empty() {
        let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
        let (mut run, more) = rest.split_at(plain);
        while !run.is_empty() {
            let is_end = more.is_empty() && blank.is_none() && run.len() <= LINE - column;
            let (fits, left) =
                run.split_at(if is_end { run.len() } else { run.len().min(LINE - 1 - column) });
            out.extend_from_slice(fits);
            (run, column) = (left, column + fits.len());
            if !run.is_empty() {
                column = soft_break(out);
            }
        }
        rest = match more.split_first() {
            Some((byte, more)) => {
                column = escape_byte(*byte, more.is_empty() && blank.is_none(), column, out);
                more
            }
            None => more,
        };
    }
    if let Some(blank) = blank {
        escape_byte(blank, true, column, out);
    }
}

/// Writes a byte by its digits, on the next line if there is no room for it; behind it there is room for the break of
/// its line, unless that ends anyway.
fn escape_byte(byte: u8, is_end: bool, column: usize, out: &mut Vec<u8>) -> usize {
    let limit = if is_end { LINE } else { LINE - 1 };
    let column = if column + 3 > limit { soft_break(out) } else { column };
    out.extend_from_slice(&[b'=', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    column + 3
}

fn soft_break(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(b"=\r\n");
    0
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'<' | b'>'..=b'~')
}

#[cfg(test)]
mod tests {
    use lettre::message::{Body, header::ContentTransferEncoding};
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    /// What somebody else's encoder makes of it.
    fn encode_by_lettre(text: &str) -> Vec<u8> {
        let body = Body::new_with_encoding(text.to_owned(), ContentTransferEncoding::QuotedPrintable);
        body.unwrap().into_vec()
    }

    fn check_encoding(text: &str) {
        assert_eq!(
            String::from_utf8_lossy(&encode_text(text)),
            String::from_utf8_lossy(&encode_by_lettre(text)),
            "{text:?}"
        );
    }

    #[test]
    fn lines_are_broken_where_they_must() {
        for length in [0, 1, 72, 73, 74, 75, 76, 77, 150, 151, 152, 153] {
            for end in ["", " ", "\t", "=", "é", "é ", "x", "\r", "\n", " \r\n", "\r\r\n", "=\n="] {
                check_encoding(&("x".repeat(length) + end));
                check_encoding(&("é".repeat(length) + end + "more"));
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_what_others_write(parts in vec((select(&["x", " ", "\t", "=", "é", "\n", "\r\n", "\r", "\0", "word "][..]), 0_usize..90), 0..12)) {
            check_encoding(&parts.iter().map(|(part, times)| part.repeat(*times)).collect::<String>());
        }
    }
}
