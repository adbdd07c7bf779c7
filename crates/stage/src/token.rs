//! The words of a line, each with its column. Quotes, parentheses and brackets hold blanks together; `#`
//! at the beginning of a word makes the rest a comment.

/// One word of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LineToken {
    /// Counts characters from 1.
    pub column: usize,
    pub shape: TokenShape,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TokenShape {
    /// Stands for itself: `follow`, `ann`, `09:00`.
    Value(TokenValue),
    /// `name=value`; the name of an attribute begins with `@`.
    Field { name: String, value: TokenValue },
    /// A `=` that stands alone, in the definition of a word.
    Equals,
}

/// A value as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TokenValue {
    /// Nothing at all: `name=`.
    Nothing,
    Bare(String),
    Quoted(String),
    /// `(fri 18:00)`, an instant.
    Time(String),
    /// `[a b c]`, with blanks or commas between.
    List(Vec<TokenValue>),
}

/// What is wrong with a line, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LineError {
    pub column: usize,
    pub what: String,
    pub help: Option<String>,
}

impl LineError {
    pub fn new(column: usize, what: impl Into<String>) -> Self {
        Self { column, what: what.into(), help: None }
    }

    pub fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}

/// Takes a line apart; also says in which column it ends, its comment not counted.
pub(crate) fn split_tokens(line: &str) -> Result<(Vec<LineToken>, usize), LineError> {
    let mut reader = TokenReader { chars: line.chars().collect(), at: 0 };
    let (mut tokens, mut end) = (Vec::new(), 1);
    loop {
        reader.skip(char::is_whitespace);
        let column = reader.at + 1;
        match reader.peek() {
            None | Some('#') => return Ok((tokens, end)),
            Some(_) => tokens.push(LineToken { column, shape: reader.read_token()? }),
        }
        end = reader.at + 1;
    }
}

struct TokenReader {
    chars: Vec<char>,
    at: usize,
}

impl TokenReader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip(&mut self, while_: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&while_) {
            self.at += 1;
        }
    }

    fn read_token(&mut self) -> Result<TokenShape, LineError> {
        if matches!(self.peek(), Some('"' | '\'' | '(' | '[')) {
            return Ok(TokenShape::Value(self.read_value(&[])?));
        }
        let word = self.read_word(&['=']);
        if self.peek() != Some('=') {
            return Ok(TokenShape::Value(TokenValue::Bare(word)));
        }
        self.at += 1;
        let ends = self.peek().is_none_or(char::is_whitespace);
        if word.is_empty() {
            let column = self.at;
            return if ends {
                Ok(TokenShape::Equals)
            } else {
                Err(LineError::new(column, "there must be a name before `=`"))
            };
        }
        let value = if ends { TokenValue::Nothing } else { self.read_value(&[])? };
        Ok(TokenShape::Field { name: word, value })
    }

    /// A value; a bare one ends at a blank or at one of `ends`.
    fn read_value(&mut self, ends: &[char]) -> Result<TokenValue, LineError> {
        let value = match self.peek() {
            Some(quote @ ('"' | '\'')) => TokenValue::Quoted(self.read_quoted(quote)?),
            Some('(') => TokenValue::Time(self.read_until(')')?),
            Some('[') => self.read_list()?,
            _ => return Ok(TokenValue::Bare(self.read_word(ends))),
        };
        match self.peek() {
            Some(c) if !c.is_whitespace() && !ends.contains(&c) => {
                Err(LineError::new(self.at + 1, format!("there must be a space before `{c}`")))
            }
            _ => Ok(value),
        }
    }

    fn read_word(&mut self, ends: &[char]) -> String {
        let start = self.at;
        self.skip(|c| !c.is_whitespace() && !ends.contains(&c));
        self.chars[start..self.at].iter().collect()
    }

    /// Between double quotes a backslash says `\"`, `\\`, `\n` or `\t`; single quotes take all as it is.
    fn read_quoted(&mut self, quote: char) -> Result<String, LineError> {
        let opened = self.at + 1;
        let mut text = String::new();
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                _ if c == quote => return Ok(text),
                '\\' if quote == '"' => {
                    let escaped = self.peek();
                    self.at += 1;
                    text.push(match escaped {
                        Some(c @ ('"' | '\\')) => c,
                        Some('n') => '\n',
                        Some('t') => '\t',
                        _ => {
                            let help = r#"in `"` these escapes are allowed: \" \\ \n \t; `'` allows none"#;
                            return Err(
                                LineError::new(self.at - 1, "an unknown escape").help(help.to_owned())
                            );
                        }
                    });
                }
                _ => text.push(c),
            }
        }
        Err(LineError::new(opened, format!("this `{quote}` is never closed")))
    }

    fn read_until(&mut self, close: char) -> Result<String, LineError> {
        let opened = self.at;
        self.skip(|c| c != close);
        if self.peek().is_none() {
            return Err(LineError::new(opened + 1, format!("this `{}` is never closed", self.chars[opened])));
        }
        self.at += 1;
        Ok(self.chars[opened + 1..self.at - 1].iter().collect())
    }

    fn read_list(&mut self) -> Result<TokenValue, LineError> {
        let opened = self.at + 1;
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip(|c| c.is_whitespace() || c == ',');
            match self.peek() {
                None => return Err(LineError::new(opened, "this `[` is never closed")),
                Some(']') => {
                    self.at += 1;
                    return Ok(TokenValue::List(items));
                }
                Some('[') => return Err(LineError::new(self.at + 1, "a list cannot contain a list")),
                Some(_) => items.push(self.read_value(&[',', ']'])?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> TokenValue {
        TokenValue::Bare(text.to_owned())
    }

    fn check_tokens(line: &str, expected: &[(usize, TokenShape)]) {
        let found: Vec<_> =
            split_tokens(line).unwrap().0.into_iter().map(|token| (token.column, token.shape)).collect();
        assert_eq!(found, expected, "{line}");
    }

    fn field(name: &str, value: TokenValue) -> TokenShape {
        TokenShape::Field { name: name.to_owned(), value }
    }

    #[test]
    fn a_line_is_words_with_columns() {
        check_tokens("", &[]);
        check_tokens("  # only a comment", &[]);
        check_tokens(
            "mon 09:30  follow ann item:7 # why",
            &[
                (1, TokenShape::Value(bare("mon"))),
                (5, TokenShape::Value(bare("09:30"))),
                (12, TokenShape::Value(bare("follow"))),
                (19, TokenShape::Value(bare("ann"))),
                (23, TokenShape::Value(bare("item:7"))),
            ],
        );
        check_tokens(
            "a#b = c",
            &[
                (1, TokenShape::Value(bare("a#b"))),
                (5, TokenShape::Equals),
                (7, TokenShape::Value(bare("c"))),
            ],
        );
    }

    #[test]
    fn quotes_parentheses_and_brackets_hold_together() {
        check_tokens(
            r#"title="A \"b\" #c" raw='{"x": "\n"}' at=(fri 18:00) of=[a, "b c" d] none= @id=7"#,
            &[
                (1, field("title", TokenValue::Quoted("A \"b\" #c".to_owned()))),
                (20, field("raw", TokenValue::Quoted(r#"{"x": "\n"}"#.to_owned()))),
                (38, field("at", TokenValue::Time("fri 18:00".to_owned()))),
                (
                    53,
                    field(
                        "of",
                        TokenValue::List(vec![bare("a"), TokenValue::Quoted("b c".to_owned()), bare("d")]),
                    ),
                ),
                (69, field("none", TokenValue::Nothing)),
                (75, field("@id", bare("7"))),
            ],
        );
        check_tokens(
            "\"ünï\" x",
            &[
                (1, TokenShape::Value(TokenValue::Quoted("ünï".to_owned()))),
                (7, TokenShape::Value(bare("x"))),
            ],
        );
        check_tokens("a==b", &[(1, field("a", bare("=b")))]);
    }

    #[test]
    fn a_line_ends_before_its_comment() {
        assert_eq!(split_tokens("ab \"c\"  # why").unwrap().1, 7);
        assert_eq!(split_tokens("  # why").unwrap().1, 1);
    }

    #[test]
    fn what_is_not_closed_is_shown_where_it_opens() {
        let check = |line: &str, column: usize, what: &str| {
            let wrong = split_tokens(line).unwrap_err();
            assert_eq!((wrong.column, wrong.what.as_str()), (column, what), "{line}");
        };
        check("a \"b", 3, "this `\"` is never closed");
        check("x=(fri", 3, "this `(` is never closed");
        check("x=[a b", 3, "this `[` is never closed");
        check("x=[a [b]]", 6, "a list cannot contain a list");
        check("\"a\"b", 4, "there must be a space before `b`");
        check("=b", 1, "there must be a name before `=`");
        check("\"a\\q\"", 3, "an unknown escape");
    }
}
