//! Times of day and lengths of time, as people write them.

const SECOND_MS: i64 = 1_000;

/// `20m`, `7d`, `1h30m`: whole numbers, the greater unit first, none twice.
pub fn parse_duration_ms(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum: i64 = 0;
    let mut last = i64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest.get(..digits)?.parse().ok()?;
        let unit = match rest.as_bytes().get(digits)? {
            b'd' => 86_400 * SECOND_MS,
            b'h' => 3_600 * SECOND_MS,
            b'm' => 60 * SECOND_MS,
            b's' => SECOND_MS,
            _ => return None,
        };
        if unit >= last {
            return None;
        }
        last = unit;
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        rest = rest.get(digits + 1..)?;
    }
    (last != i64::MAX).then_some(sum)
}

/// A length of time as a catalogue writes it: `1h30m`.
pub fn format_length(ms: i64) -> String {
    let mut rest = ms / 1_000;
    let mut text = String::new();
    for (unit, seconds) in [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)] {
        if rest >= seconds {
            text += &format!("{}{unit}", rest / seconds);
            rest %= seconds;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// `40 km`, `1.5 km`, `500 m`, as kilometres.
pub fn parse_distance_km(text: &str) -> Option<f64> {
    let (number, metres) = match text.strip_suffix("km") {
        Some(number) => (number, 1_000.0),
        None => (text.strip_suffix('m')?, 1.0),
    };
    let number = number.trim_end_matches(' ');
    // Rust would read `inf` and `1e9` too.
    let plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Some(number * metres / 1_000.0)
}

/// The address of a page or a picture that mail may carry: http or https, absolute, without anything that
/// could end the attribute it stands in.
pub fn is_web_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return false;
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let odd = |c: char| {
        c.is_control()
            || c.is_whitespace()
            || matches!(c, '"' | '<' | '>' | '\\' | '`' | '^' | '{' | '}' | '|')
    };
    // What comes before an `@` is not where the address leads.
    !host.is_empty() && !host.contains('@') && !text.contains(odd)
}

/// `Name <box@host>` or `box@host`, which can stand in a header as it is.
pub fn bad_mailbox(text: &str) -> Option<&'static str> {
    if text.chars().any(char::is_control) {
        return Some("a control character");
    }
    let address = match text.split_once('<') {
        None => text,
        Some((_, rest)) => match rest.strip_suffix('>') {
            Some(address) => address,
            None => return Some("`<` without `>` at the end"),
        },
    };
    if text.matches('@').count() != 1 {
        return Some("not exactly one `@`");
    }
    let part = |part: &str| {
        !part.is_empty()
            && !part
                .contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | ',' | ';' | '"' | '(' | ')'))
    };
    match address.split_once('@') {
        Some((mailbox, host)) if part(mailbox) && part(host) => None,
        _ => Some("not an address of the form `box@host`"),
    }
}
