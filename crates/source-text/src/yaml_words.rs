//! What the parser of YAML says, in our words: what is wrong, and what to write instead.

/// A part of what the parser says, what is wrong then, and what to write. The first row that fits is taken.
type ParserWord = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const WORDS: &[ParserWord] = &[
    ("duplicate mapping key", "this key is given twice", "keep one of the two"),
    ("tab", "there is a tab here", "YAML is indented with spaces; write a text with a tab in quotes"),
    ("unknown anchor", "there is no anchor of this name above", "write the value out, or a text that begins with `*` in quotes"),
    ("anchor or alias", "a name is missing after `&` or `*`", "write a text that begins with it in quotes"),
    ("recursive references", "this anchor contains itself", "write its value out"),
    ("alias", "the aliases of this file are too many", "write their values out"),
    ("anchor", "the anchors of this file are too many", "write their values out"),
    ("merge", "`<<` needs a map, or a list of maps", "write the keys out, or `<<: *name` of a map with the anchor `&name`"),
    ("multiple", "a second document begins here", "a file has one document: remove this line"),
    ("document indicator", "a line within this quoted text begins with `---` or `...`", "close the quote above it, or indent the line"),
    ("document", "this belongs to no key", "write `key: value`, indented like the keys above it"),
    ("directive", "a line that begins with `%` is for YAML itself", "write a text that begins with `%` in quotes"),
    ("the handle", "`!` begins a tag, which is not used here", "write a text that begins with `!` in quotes"),
    ("tag", "`!` begins a tag, which is not used here", "write a text that begins with `!` in quotes"),
    ("unclosed quote", "this quote is not closed", "write the same quote where the text ends"),
    ("after single-quoted", "the text goes on behind its closing quote", "quote all of it, and write `''` for a quote within it"),
    ("after double-quoted", "the text goes on behind its closing quote", "quote all of it, and write `\\\"` for a quote within it"),
    ("escape character", "there is no such escape within double quotes", "write `\\\\` for a backslash, or single quotes around the text"),
    ("hexadecimal", "this escape names no character", "write the character itself"),
    ("surrogate", "this escape names no character", "write the character itself"),
    ("Unicode", "this escape names no character", "write the character itself"),
    ("mismatched bracket", "this bracket is closed by one of another form", "close `[` with `]`, and `{` with `}`"),
    ("misplaced bracket", "this bracket closes none", "remove it"),
    ("unclosed bracket", "this bracket is not closed", "write `]` or `}` where it ends"),
    ("EOF while parsing a flow", "a bracket above is not closed", "write `]` or `}` where it ends"),
    ("flow mapping, did not", "a comma or `}` is missing before this", "write `{key: value, key: value}`"),
    ("flow sequence, expected", "a comma or `]` is missing before this", "write `[value, value]`"),
    ("did not find expected key", "a key is expected here", "write `key: value`, indented like the keys above it"),
    ("'-' indicator", "a `-` is expected here", "indent this line like the `-` above it"),
    ("valid inside a block", "a `-` cannot stand in brackets", "write the values with commas: `[value, value]`"),
    ("block sequence entries", "a list cannot begin here", "write each `- value` in a line of its own below the key"),
    ("'-' must be", "a `-` needs a space after it", "write `- value`"),
    ("mapping values", "a colon cannot stand here", "write a text with a colon in quotes, and each `key: value` in a line of its own"),
    ("mapping keys", "a key cannot stand here", "write each `key: value` in a line of its own"),
    ("':'", "a colon is missing here, or stands where it cannot", "write `key: value`, with a space after the colon"),
    ("simple key", "there is no colon after this key", "write `key: value`"),
    ("block scalar", "the lines below `|` or `>` are not indented alike", "indent all of them by the same spaces, more than the key"),
    ("indentation", "the indentation of this line does not fit the lines above it", "indent it like the line that it belongs beside"),
    ("comment", "a comment cannot stand here", "write a space before its `#`, or the text in quotes"),
    ("unexpected character", "a text cannot begin with this character", "write the text in quotes"),
    ("plain scalar", "a text cannot be written like this", "write the text in quotes"),
    ("BOM", "there is a byte order mark within the file", "remove the character"),
    ("Depth", "the maps and lists within each other are too many", "write it with fewer levels"),
    ("recursion limit", "the maps and lists within each other are too many", "write it with fewer levels"),
    ("budget", "the file has too many values", "write a shorter one"),
    ("finite float", "this number is not finite", "write a number, or a text in quotes"),
    ("null into string", "a key is missing before this colon", "write `key: value`"),
    ("expected string", "a key must be a text", "write `key: value`, and a text that begins with a bracket in quotes"),
    ("eof", "the file ends too early", "look for a quote or a bracket that is not closed"),
    ("end of input", "the file ends too early", "look for a quote or a bracket that is not closed"),
];

const ELSE: (&str, &str) =
    ("this is not YAML", "look for a quote, a bracket or a colon that is missing here or in the line above");

/// What is wrong, which says nothing that stands in the file, and what to write.
pub fn describe_parser_error(said: &str) -> (&'static str, &'static str) {
    WORDS.iter().find(|(word, ..)| said.contains(word)).map_or(ELSE, |(_, what, help)| (what, help))
}
