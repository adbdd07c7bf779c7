//! What CLDR says of a language, by ICU4X: which plural a number takes, and how numbers, lists and dates are written.

use anyhow::Context as _;
use icu_calendar::Gregorian;
use icu_datetime::{
    FixedCalendarDateTimeFormatter, NoCalendarFormatter,
    fieldsets::{MDE, T, YMDE},
    input::{Date, Time},
};
use icu_decimal::{DecimalFormatter, input::Decimal};
use icu_list::{ListFormatter, options::ListFormatterOptions};
use icu_locale_core::{Locale, locale};
use icu_plurals::{PluralCategory, PluralRules};
use icu_provider::DataError;
use jiff::civil;

/// Dates are those of one calendar for everybody, as the plans of a catalogue are.
type DateFormatter<F> = FixedCalendarDateTimeFormatter<Gregorian, F>;

/// The formatters of one language.
#[derive(Debug)]
pub struct LocaleFormats {
    plurals: PluralRules,
    numbers: DecimalFormatter,
    lists: ListFormatter,
    days: DateFormatter<MDE>,
    days_with_year: DateFormatter<YMDE>,
    times: NoCalendarFormatter<T>,
}

impl LocaleFormats {
    pub fn new(tag: &str) -> anyhow::Result<Self> {
        // The digits 0 to 9 in every language: texts print them, and so do prices and ids beside them.
        let locale: Locale = format!("{tag}-u-nu-latn").parse().with_context(|| format!("read {tag}"))?;
        Ok(Self {
            plurals: PluralRules::try_new_cardinal((&locale).into()).context("the plurals")?,
            numbers: DecimalFormatter::try_new((&locale).into(), Default::default())
                .context("the numbers")?,
            lists: list_formatter(tag, &locale).context("the lists")?,
            days: DateFormatter::try_new((&locale).into(), MDE::medium()).context("the days")?,
            days_with_year: DateFormatter::try_new((&locale).into(), YMDE::medium())
                .context("the days of other years")?,
            times: NoCalendarFormatter::try_new((&locale).into(), T::hm()).context("the times")?,
        })
    }

    /// The plural that a number takes, by the name that CLDR and Fluent have for it.
    pub fn plural_of(&self, number: f64) -> &'static str {
        let category = match decimal_of(number) {
            Some(decimal) => self.plurals.category_for(&decimal),
            None => PluralCategory::Other,
        };
        category_name(category)
    }

    /// Every plural that the language has.
    pub fn plural_names(&self) -> Vec<&'static str> {
        self.plurals.categories().map(category_name).collect()
    }

    pub fn number(&self, number: f64) -> String {
        decimal_of(number)
            .map_or_else(|| number.to_string(), |decimal| self.numbers.format(&decimal).to_string())
    }

    pub fn list(&self, names: &[String]) -> String {
        self.lists.format_to_string(names.iter())
    }

    /// A weekday, a day and a month, with the year if it does not go without saying.
    pub fn day(&self, date: civil::Date, with_year: bool) -> Option<String> {
        let (month, day) = (u8::try_from(date.month()).ok()?, u8::try_from(date.day()).ok()?);
        let date = Date::try_new_gregorian(date.year().into(), month, day).ok()?;
        Some(if with_year {
            self.days_with_year.format(&date).to_string()
        } else {
            self.days.format(&date).to_string()
        })
    }

    /// The hour and the minute.
    pub fn time(&self, at: civil::Time) -> Option<String> {
        let (hour, minute) = (u8::try_from(at.hour()).ok()?, u8::try_from(at.minute()).ok()?);
        Some(self.times.format(&Time::try_new(hour, minute, 0, 0).ok()?).to_string())
    }
}

/// English lists have no comma before their `and`, as the sentences of the house always had.
fn list_formatter(tag: &str, locale: &Locale) -> Result<ListFormatter, DataError> {
    let locale = if tag == "en" { locale!("en-001") } else { locale.clone() };
    ListFormatter::try_new_and((&locale).into(), ListFormatterOptions::default())
}

fn decimal_of(number: f64) -> Option<Decimal> {
    // Rust writes every finite number without an exponent.
    Decimal::try_from_str(&number.to_string()).ok()
}

fn category_name(category: PluralCategory) -> &'static str {
    match category {
        PluralCategory::Zero => "zero",
        PluralCategory::One => "one",
        PluralCategory::Two => "two",
        PluralCategory::Few => "few",
        PluralCategory::Many => "many",
        PluralCategory::Other => "other",
    }
}
