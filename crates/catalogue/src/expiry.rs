//! When what a kind tells is past: some time after its event, or at an instant of its subject. What is past is not told.

use model::{FieldType, SubjectType, UtcMillis, Value, VersionedState, time::AskedMoment};
use source_text::{
    units::{format_length, parse_duration_ms},
    yaml::{TreeNode, TreePlace},
};

use crate::tree_reader::TreeReader;

/// What stands before the field.
const AT: &str = "at subject.";

/// When entries of a kind are past.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KindExpiry {
    /// So many milliseconds after the event.
    After(i64),
    /// At this field of the subject, a time, as it is when it is asked. Without one an entry is never past.
    At(String),
}

impl KindExpiry {
    /// Whether an entry of an event of that time is past.
    pub fn is_past(&self, occurred: UtcMillis, state: Option<&VersionedState>, at: AskedMoment) -> bool {
        match self {
            Self::After(ms) => at.now >= occurred.plus(*ms),
            Self::At(field) => match state.and_then(|state| state.get(field)) {
                Some(Value::Time(end)) => at.now >= *end,
                _ => false,
            },
        }
    }

    /// As a catalogue writes it.
    pub fn text(&self) -> String {
        match self {
            Self::After(ms) => format_length(*ms),
            Self::At(field) => format!("{AT}{field}"),
        }
    }

    pub(crate) fn read(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<(Self, TreePlace)> {
        let text = reader.text(node, "`expires`")?;
        if let Some(field) = text.strip_prefix(AT) {
            return Some((Self::At(field.trim().to_string()), node.at));
        }
        match parse_duration_ms(text) {
            Some(ms) if (1..reader.day_life.ms()).contains(&ms) => return Some((Self::After(ms), node.at)),
            Some(_) => {
                let life = format_length(reader.day_life.ms());
                reader.problem(
                    node.at,
                    format!(
                        "`expires` is more than nothing and less than {life}, for which entries are kept"
                    ),
                );
            }
            None => {
                let help = "write a length such as `6h` or `2d`, or a time of the subject such as `at subject.opens`";
                reader.problem_with(
                    node.at,
                    format!("`{text}` is not a time to expire"),
                    Some(help.to_string()),
                );
            }
        }
        None
    }

    /// Whether the field is one of the subject, and a time.
    pub(crate) fn check(&self, reader: &mut TreeReader<'_>, at: TreePlace, subject: &SubjectType) {
        let Self::At(field) = self else { return };
        match subject.fields.get(field) {
            Some(FieldType::Time) => {}
            Some(other) => reader.problem(at, format!("`{field}` is {other}, but `expires` needs a time")),
            None => reader.report_no_field(at, subject, field),
        }
    }
}
