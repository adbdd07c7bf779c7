//! The forms of texts. A pattern may let more through than the reader does, and never less.

use crate::{FormatValue, TextForm};

pub static ANY: TextForm = TextForm { name: "text", pattern: "" };
pub static TEMPLATE: TextForm = TextForm { name: "text with `{{ }}`", pattern: "" };
pub static CONDITION: TextForm = TextForm { name: "condition", pattern: "" };
pub static EXPRESSION: TextForm = TextForm { name: "expression", pattern: "" };
pub static LINE: TextForm = TextForm { name: "one line", pattern: r"^[^\u0000-\u001f\u007f]+$" };
pub static LANGUAGE: TextForm = TextForm {
    name: "language such as `de` or `de-AT`",
    pattern: "^(?:en|de|fr|es|ja|ar|ru)(?:[-_][A-Za-z0-9]+)*$",
};
pub static LINES: TextForm = TextForm { name: "text", pattern: r"\S" };
pub static NAME: TextForm = TextForm { name: "name", pattern: "^[a-z][a-z0-9_]*$" };
pub static FIELD: TextForm = TextForm { name: "field", pattern: "^[a-z][a-z0-9_]*$" };
pub static FIELD_TYPE: TextForm = TextForm {
    name: "`text`, `url`, `number`, `flag`, `time`, `ref TYPE`, `refs TYPE`, `place` or `person`",
    pattern: r"^\s*(?:text|url|number|flag|time|place|person|refs?\s+[a-z][a-z0-9_]*)\s*$",
};
pub static EVENT: TextForm = TextForm { name: "event, `SUBJECT.WHAT`", pattern: r"^[a-z][a-z0-9_]*\..+$" };
pub static STATEMENT: TextForm = TextForm {
    name: "event, `SUBJECT.WHAT`, or `follow`, `mute` or `profile`",
    pattern: r"^(?:follow|mute|profile|[a-z][a-z0-9_]*\..+)$",
};
pub static KEY_PART: TextForm = TextForm {
    name: "`kind`, `subject`, `actor` or a field such as `subject.author`",
    pattern: r"^(?:kind|subject|actor|subject\.[a-z][a-z0-9_]*)$",
};
pub static BUNDLE_PART: TextForm =
    TextForm { name: "`kind`, `subject`, `actor`, `thread` or a field", pattern: "^[a-z][a-z0-9_]*$" };
pub static LENGTH: TextForm = TextForm {
    name: "length of time such as `20m`, `1h30m` or `7d`",
    pattern: r"^(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?$",
};
pub static EXPIRY: TextForm = TextForm {
    name: "length of time such as `6h`, or a time of the subject such as `at subject.opens`",
    pattern: r"^(?:(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?|at subject\.[a-z][a-z0-9_]*)$",
};
pub static DISTANCE: TextForm =
    TextForm { name: "distance such as `40 km` or `500 m`", pattern: "^[0-9][0-9.]* *k?m$" };
pub static TIME_OF_DAY: TextForm =
    TextForm { name: "time of day such as `\"09:00\"`", pattern: "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$" };
pub static MONTH_DAY: TextForm = TextForm {
    name: "`last`, `first mon` to `fourth sun`, or `last fri`",
    pattern: "^(?:last|(?:first|second|third|fourth|last) +(?:mon|tue|wed|thu|fri|sat|sun))$",
};
pub static PERIOD: TextForm =
    TextForm { name: "`3 days`, `2 weeks`, `1 month`", pattern: "^[0-9]+ +(?:day|week|month)s?$" };
pub static DATE: TextForm =
    TextForm { name: "date such as `2026-01-05`", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" };
pub static CRON: TextForm = TextForm {
    name: "five fields such as `\"0 9 * * mon-fri\"`",
    pattern: r"^\s*(?:[0-9A-Za-z*,/-]+\s+){4}[0-9A-Za-z*,/-]+\s*$",
};
pub static HOURS: TextForm = TextForm {
    name: "hours such as `\"07:00-22:00\"`",
    pattern: "^(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9]$",
};
pub static ZONE: TextForm = TextForm {
    name: "`person`, or a time zone such as `Europe/Berlin`",
    pattern: "^[A-Za-z][A-Za-z0-9_+/-]*$",
};
pub static MAILBOX: TextForm = TextForm {
    name: "`Name <box@host>` or `box@host`",
    pattern: r"^[^@\u0000-\u001f\u007f]+@[^@\u0000-\u001f\u007f]+$",
};
pub static FILE: TextForm =
    TextForm { name: "file of the folder", pattern: r"^[^./\\:][^/\\:]*(?:/[^./\\:][^/\\:]*)*$" };
pub static TOPIC: TextForm = TextForm { name: "name of a topic", pattern: "^[A-Za-z0-9._-]{1,249}$" };

pub static TABLE: TextForm = TextForm {
    name: "subject and field such as `picks.items`",
    pattern: r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$",
};
pub static HOST: TextForm = TextForm {
    name: "host such as `img.example.com` or `*.example.com`",
    pattern: r"^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*$",
};
pub static WEB_ADDRESS: TextForm =
    TextForm { name: "address such as `https://example.com/all`", pattern: "^https?://" };

pub const TEXT: FormatValue = FormatValue::Text(&ANY);
pub const TEXT_WITH_TAGS: FormatValue = FormatValue::Text(&TEMPLATE);
pub const A_FIELD: FormatValue = FormatValue::Text(&FIELD);
pub const A_NAME: FormatValue = FormatValue::Text(&NAME);
pub const AN_EXPRESSION: FormatValue = FormatValue::Text(&EXPRESSION);
pub const A_ZONE: FormatValue = FormatValue::Text(&ZONE);
pub const A_TIME: FormatValue = FormatValue::Text(&TIME_OF_DAY);
