//! The forms of texts. A pattern may let more through than the reader does, and never less.

use super::{FormatValue, TextForm};

pub(super) static ANY: TextForm = TextForm { name: "text", pattern: "" };
pub(super) static TEMPLATE: TextForm = TextForm { name: "text with `{{ }}`", pattern: "" };
pub(super) static CONDITION: TextForm = TextForm { name: "condition", pattern: "" };
pub(super) static EXPRESSION: TextForm = TextForm { name: "expression", pattern: "" };
pub(super) static LINE: TextForm = TextForm { name: "one line", pattern: r"^[^\u0000-\u001f\u007f]+$" };
pub(super) static LINES: TextForm = TextForm { name: "text", pattern: r"\S" };
pub(super) static NAME: TextForm = TextForm { name: "name", pattern: "^[a-z][a-z0-9_]*$" };
pub(super) static FIELD: TextForm = TextForm { name: "field", pattern: "^[a-z][a-z0-9_]*$" };
pub(super) static FIELD_TYPE: TextForm = TextForm {
    name: "`text`, `url`, `number`, `flag`, `time`, `ref TYPE`, `refs TYPE`, `place` or `person`",
    pattern: r"^\s*(?:text|url|number|flag|time|place|person|refs?\s+[a-z][a-z0-9_]*)\s*$",
};
pub(super) static EVENT: TextForm =
    TextForm { name: "event, `SUBJECT.WHAT`", pattern: r"^[a-z][a-z0-9_]*\..+$" };
pub(super) static STATEMENT: TextForm = TextForm {
    name: "event, `SUBJECT.WHAT`, or `follow`, `mute` or `profile`",
    pattern: r"^(?:follow|mute|profile|[a-z][a-z0-9_]*\..+)$",
};
pub(super) static KEY_PART: TextForm = TextForm {
    name: "`kind`, `subject`, `actor` or a field such as `subject.author`",
    pattern: r"^(?:kind|subject|actor|subject\.[a-z][a-z0-9_]*)$",
};
pub(crate) static LENGTH: TextForm = TextForm {
    name: "length of time such as `20m`, `1h30m` or `7d`",
    pattern: r"^(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?$",
};
pub(super) static DISTANCE: TextForm =
    TextForm { name: "distance such as `40 km` or `500 m`", pattern: "^[0-9][0-9.]* *k?m$" };
pub(super) static TIME_OF_DAY: TextForm =
    TextForm { name: "time of day such as `\"09:00\"`", pattern: "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$" };
pub(super) static HOURS: TextForm = TextForm {
    name: "hours such as `\"07:00-22:00\"`",
    pattern: "^(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9]$",
};
pub(super) static ZONE: TextForm = TextForm {
    name: "`person`, or a time zone such as `Europe/Berlin`",
    pattern: "^[A-Za-z][A-Za-z0-9_+/-]*$",
};
pub(super) static MAILBOX: TextForm = TextForm {
    name: "`Name <box@host>` or `box@host`",
    pattern: r"^[^@\u0000-\u001f\u007f]+@[^@\u0000-\u001f\u007f]+$",
};
pub(super) static FILE: TextForm =
    TextForm { name: "file of the folder", pattern: r"^[^./\\:][^/\\:]*(?:/[^./\\:][^/\\:]*)*$" };
pub(super) static TOPIC: TextForm = TextForm { name: "name of a topic", pattern: "^[A-Za-z0-9._-]{1,249}$" };

pub(super) const TEXT: FormatValue = FormatValue::Text(&ANY);
pub(super) const TEXT_WITH_TAGS: FormatValue = FormatValue::Text(&TEMPLATE);
pub(super) const A_FIELD: FormatValue = FormatValue::Text(&FIELD);
pub(super) const A_NAME: FormatValue = FormatValue::Text(&NAME);
pub(super) const AN_EXPRESSION: FormatValue = FormatValue::Text(&EXPRESSION);
pub(super) const A_ZONE: FormatValue = FormatValue::Text(&ZONE);
pub(super) const A_TIME: FormatValue = FormatValue::Text(&TIME_OF_DAY);
