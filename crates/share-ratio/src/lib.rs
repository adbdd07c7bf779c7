//! A share of a whole, such as 0.5 %.

use std::{fmt, str::FromStr};

/// Parts of the whole in which shares are counted.
const PARTS: u32 = 100_000;

/// A share of a whole, exact to a thousandth of a percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ShareRatio(u32);

impl ShareRatio {
    pub const NONE: Self = Self(0);
    pub const WHOLE: Self = Self(PARTS);

    /// So many percent; never more than all.
    pub const fn from_percent(percent: u32) -> Self {
        let parts = percent.saturating_mul(PARTS / 100);
        Self(if parts < PARTS { parts } else { PARTS })
    }

    /// How many of how many, rounded down. Nobody is no share of nobody.
    pub fn from_counts(some: u64, all: u64) -> Self {
        let parts = u128::from(some) * u128::from(PARTS) / u128::from(all.max(1));
        Self(u32::try_from(parts).unwrap_or(PARTS).min(PARTS))
    }

    /// Whether more than this share of all are some.
    pub fn is_exceeded(self, some: u64, all: u64) -> bool {
        u128::from(some) * u128::from(PARTS) > u128::from(all) * u128::from(self.0)
    }

    /// Whether a number falls within it, which a random one does as often as it says. A larger share has the same
    /// numbers, and more.
    pub fn has(self, number: u64) -> bool {
        number % u64::from(PARTS) < u64::from(self.0)
    }

    /// Thousandths of a percent.
    pub fn thousandths(self) -> u32 {
        self.0
    }

    /// Between 0 and 1.
    pub fn ratio(self) -> f64 {
        f64::from(self.0) / f64::from(PARTS)
    }
}

impl fmt::Display for ShareRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000, self.0 % 1_000);
        match rest {
            0 => write!(f, "{whole} %"),
            rest => write!(f, "{whole}.{} %", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

/// What is no share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is not a share from 0.001% to 100%, such as 0.5%")]
pub struct ShareRatioError;

impl FromStr for ShareRatio {
    type Err = ShareRatioError;

    fn from_str(text: &str) -> Result<Self, ShareRatioError> {
        let number = text.strip_suffix('%').ok_or(ShareRatioError)?.trim_end();
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |digits: &str| digits.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() || part.len() > 3 || !is_number(whole) || !is_number(part) {
            return Err(ShareRatioError);
        }
        let parts = format!("{whole}{part:0<3}").parse().map_err(|_| ShareRatioError)?;
        if parts <= PARTS { Ok(Self(parts)) } else { Err(ShareRatioError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_and_written_as_people_write_it() {
        let check = |text: &str, expected: Option<&str>| {
            let read = text.parse::<ShareRatio>().ok().map(|share| share.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("5%", Some("5 %"));
        check("5 %", Some("5 %"));
        check("0.5%", Some("0.5 %"));
        check("0.050%", Some("0.05 %"));
        check("0.001%", Some("0.001 %"));
        check("100%", Some("100 %"));
        check("0%", Some("0 %"));
        for wrong in ["", "%", "5", "-1%", "+1%", "100.001%", ".5%", "0.0001%", "1e1%", "99999999999%", "٥%"]
        {
            check(wrong, None);
        }
    }

    #[test]
    fn a_share_of_numbers_falls_within_it() {
        let check = |share: ShareRatio, expected: usize| {
            assert_eq!((0..u64::from(PARTS)).filter(|number| share.has(*number)).count(), expected);
        };
        check(ShareRatio::NONE, 0);
        check(ShareRatio::from_percent(5), 5_000);
        check(ShareRatio::WHOLE, 100_000);
        check(ShareRatio::from_percent(101), 100_000);
    }

    #[test]
    fn counts_are_compared_exactly() {
        let check = |(some, all), share: &str, is_exceeded: bool, expected: &str| {
            let share: ShareRatio = share.parse().unwrap();
            assert_eq!(share.is_exceeded(some, all), is_exceeded, "{some} of {all}");
            assert_eq!(ShareRatio::from_counts(some, all).to_string(), expected);
        };
        check((10, 100), "10%", false, "10 %");
        check((11, 100), "10%", true, "11 %");
        check((1, 300_000), "0%", true, "0 %");
        check((0, 0), "0%", false, "0 %");
        check((u64::MAX, u64::MAX), "99.999%", true, "100 %");
    }
}
