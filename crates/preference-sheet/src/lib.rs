//! The preferences of one person as one sheet: what they can choose by the catalogue, what holds now, and how they change it.
//!
//! [`ReaderState`] is what is known of the person. [`PreferenceSheet`] is what they see of it; [`SheetChange`] is what they ask
//! for, and [`change_sheet`] makes of it the facts that say so, which everybody hears by the way of all facts. What holds
//! already is not stated again. [`forecast_week`] counts the messages that last week's entries would have made.
//!
//! Nothing here reads or writes anything.

mod cadence;
mod change;
mod choice_scope;
mod mute_target;
mod reader_state;
mod sheet;
mod sheet_change;
mod thing_line;
mod usual_choice;
mod week_forecast;

#[cfg(test)]
mod tests;

pub use cadence::PlanCadence;
pub use change::{ChangedSheet, StatedFact, change_sheet};
pub use mute_target::MuteTarget;
pub use reader_state::ReaderState;
pub use sheet::{ChannelLine, ChoiceCell, ChoiceOffer, PreferenceSheet, SheetPlan, TopicLine};
pub use sheet_change::{ChannelChange, ChoiceChange, SheetChange, SheetRefusal, StatedText, UNSET};
pub use thing_line::{ThingChoice, ThingLine};
pub use week_forecast::{WeekEntry, WeekForecast, forecast_week};
