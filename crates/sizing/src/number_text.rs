//! Numbers for people: few digits, and units.

/// Rounds up to a whole number of steps.
pub fn round_up(value: f64, step: u64) -> u64 {
    let steps = (value / step as f64).ceil().max(0.0);
    steps as u64 * step
}

/// Two digits that count, the others noughts.
fn two_digits(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    (value / step).round() * step
}

/// A count with two digits that count: `5,000,000`, `0.42`.
pub fn format_about(value: f64) -> String {
    let rounded = two_digits(value);
    if rounded >= 10.0 {
        return format_count(rounded.round() as u64);
    }
    let text = format!("{rounded:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An exact count, in groups of three digits.
pub fn format_count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes of disks and wires, which are sold by the thousand.
pub fn format_bytes(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut at) = (two_digits(bytes), 0);
    while value >= 1_000.0 && at + 1 < units.len() {
        value /= 1_000.0;
        at += 1;
    }
    format!("{} {}", format_about(value), units[at])
}

/// Thousandths of a processor.
pub fn format_processors(millis: u64) -> String {
    let text = format!("{:.2}", millis as f64 / 1_000.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Memory, which is sold by powers of two.
pub fn format_memory(mib: u64) -> String {
    if mib >= 1_024 && mib.is_multiple_of(512) {
        let text = format!("{:.1}", mib as f64 / 1_024.0);
        return format!("{} GiB", text.trim_end_matches(".0"));
    }
    format!("{mib} MiB")
}
