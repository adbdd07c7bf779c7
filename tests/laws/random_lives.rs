//! Lives under catalogues that are drawn at random: [`plans`] draws a catalogue, [`script`] what happens, [`life`] lives
//! it, [`oracle`] says what must not be ([`early`], [`held`] and [`late`] when something may be told, and must have been), and [`small`] tells the story
//! of what was, with as little of it as is needed.

pub mod earliest_times;
pub mod hold_rules;
pub mod latest_times;
pub mod life;
pub mod oracle;
pub mod plans;
pub mod script;
pub mod shrinking;
