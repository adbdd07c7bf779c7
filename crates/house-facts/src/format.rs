//! The format of what a house persists: records on topics, a person's state on `windows`, rows of the store, the layout
//! of tables, the files of the embedded engines. One number for all of them, and the only place where it is said.
//!
//! | format | what it raised |
//! | --- | --- |
//! | 1 | the first one; also that of houses whose notes do not say which they have |
//! | 2 | rows of days keep who did something and words of the event; lists of entries, and marks and Readys that name them |
//! | 3 | marks say that an entry was seen, is unread again, saved, put off or withdrawn, and records that something comes back |
//!
//! **To change what is persisted.** The tidy check `formats` fails, and this is to be decided: can the release before
//! read what is then written, and does it mean the same there?
//!
//! - If it can, set [`FORMS`] to what the check prints, and nothing else. So it is with a table or a header more, which
//!   older programs pass over.
//! - If it cannot, as with every new version of a schema, let two releases do it. The first one reads the new form and
//!   writes the old one: it raises the end of [`FORMATS_READ`]. The next one writes it: it raises [`FORMAT_WRITTEN`]
//!   and [`FORMAT_READ_BEFORE`], adds a line to the table above, and there is a way back to the first.
//! - If that cannot wait, raise the end of [`FORMATS_READ`] and [`FORMAT_WRITTEN`] at once, and leave
//!   [`FORMAT_READ_BEFORE`]. Then the upgrade says at its start that there is no way back, and waits to be told so.
//!
//! With a release, [`FORMAT_READ_BEFORE`] becomes the end of the [`FORMATS_READ`] of the release before it.

use std::ops::RangeInclusive;

/// The formats that this program reads.
pub const FORMATS_READ: RangeInclusive<u32> = 1..=3;
/// The format that this program writes.
pub const FORMAT_WRITTEN: u32 = 3;
/// The newest format that the release before this one reads.
pub const FORMAT_READ_BEFORE: u32 = 1;
/// The digest of the persisted forms as they were when somebody last decided about the numbers above: schemas, goldens
/// and tables. `cargo xtask tidy formats` compares it.
pub const FORMS: &str = "7dad60761ebe7314";

/// The format of houses whose notes do not say which they have.
const FIRST: u32 = 1;

/// What a program reads and writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramFormats {
    pub read: RangeInclusive<u32>,
    pub written: u32,
    /// The newest one that the release before reads.
    pub read_before: u32,
}

/// The format of a house, as it was noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HouseFormat {
    pub number: u32,
    /// The version of the program that noted it, if it is known.
    pub release: Option<String>,
}

/// What a program does with a house of some format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatVerdict {
    /// It runs, and writes what all programs of this house read.
    Fits,
    /// It would write a newer format, so that is noted first. Whether the release before reads what is then written.
    Raises { has_way_back: bool },
    /// It cannot read what the house wrote.
    Unreadable,
}

impl ProgramFormats {
    /// Those of this program.
    pub fn of_this_program() -> Self {
        Self { read: FORMATS_READ, written: FORMAT_WRITTEN, read_before: FORMAT_READ_BEFORE }
    }

    /// What is to be done with a house of this format.
    pub fn judge(&self, house: &HouseFormat) -> FormatVerdict {
        if !self.read.contains(&house.number) {
            FormatVerdict::Unreadable
        } else if self.written > house.number {
            FormatVerdict::Raises { has_way_back: self.read_before >= self.written }
        } else {
            FormatVerdict::Fits
        }
    }

    /// Which ones are read, in words.
    pub fn describe_read(&self) -> String {
        let (first, last) = (self.read.start(), self.read.end());
        if first == last { format!("format {last}") } else { format!("formats {first} to {last}") }
    }
}

impl HouseFormat {
    /// That of a house whose notes do not say which it has.
    pub fn first() -> Self {
        Self { number: FIRST, release: None }
    }

    /// As it stands in a note: the number, and the version of the program that noted it.
    pub fn text(&self) -> String {
        self.release
            .as_ref()
            .map_or_else(|| self.number.to_string(), |release| format!("{} {release}", self.number))
    }

    /// Reads that text; whatever later programs add behind the number is theirs.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, release) = text.split_once(' ').unwrap_or((text, ""));
        let release = Some(release).filter(|release| !release.is_empty()).map(str::to_owned);
        Some(Self { number: number.parse().ok().filter(|number| *number > 0)?, release })
    }
}

impl std::fmt::Display for HouseFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "format {}", self.number)?;
        self.release.as_ref().map_or(Ok(()), |release| write!(f, ", noted by tidings {release}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_does_with_a_house_before_it_writes() {
        let check = |read: RangeInclusive<u32>, written, read_before, house, expect| {
            let program = ProgramFormats { read, written, read_before };
            let house = HouseFormat { number: house, release: None };
            assert_eq!(program.judge(&house), expect, "{program:?} {house}");
        };
        check(1..=1, 1, 1, 1, FormatVerdict::Fits);
        check(1..=1, 1, 1, 2, FormatVerdict::Unreadable);
        check(2..=3, 3, 2, 1, FormatVerdict::Unreadable);
        // A release reads the new one before a release writes it.
        check(1..=2, 1, 1, 1, FormatVerdict::Fits);
        check(1..=2, 2, 2, 1, FormatVerdict::Raises { has_way_back: true });
        check(1..=2, 1, 1, 2, FormatVerdict::Fits);
        // One that does both at once.
        check(1..=2, 2, 1, 1, FormatVerdict::Raises { has_way_back: false });
        check(1..=2, 2, 1, 2, FormatVerdict::Fits);
    }

    #[test]
    fn the_numbers_of_this_program_agree() {
        let program = ProgramFormats::of_this_program();
        assert!(program.read.contains(&program.written), "it reads what it writes");
        assert!(program.read.contains(&program.read_before), "nobody skips a format");
        let house = HouseFormat { number: program.written, release: None };
        assert_eq!(program.judge(&house), FormatVerdict::Fits);
    }

    #[test]
    fn a_noted_format_is_a_number_and_whose_it_is() {
        let check = |text: &str, expect: Option<(u32, Option<&str>)>| {
            let parsed = HouseFormat::parse(text);
            let found = parsed.as_ref().map(|format| (format.number, format.release.as_deref()));
            assert_eq!(found, expect, "{text:?}");
            if let Some(format) = parsed {
                assert_eq!(format.text(), text.trim());
            }
        };
        check("1", Some((1, None)));
        check("3 0.4.0 (ab12)", Some((3, Some("0.4.0 (ab12)"))));
        for odd in ["", "0", "-1", "x", " 1", "1x", "99999999999"] {
            check(odd, None);
        }
    }
}
