//! Words of `.pto` text.

use std::fmt;

/// A word with the line it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub line: usize,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// `%name`, without the `%`.
    Value(String),
    /// Letters, digits, `_` and `.`, also with `!`, `#` or `@` in front.
    Word(String),
    /// A number as it stands.
    Number(String),
    Text(String),
    Symbol(char),
    Arrow,
    End,
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Value(name) => write!(f, "%{name}"),
            TokenKind::Word(text) | TokenKind::Number(text) => f.write_str(text),
            TokenKind::Text(text) => write!(f, "{text:?}"),
            TokenKind::Symbol(c) => write!(f, "{c}"),
            TokenKind::Arrow => f.write_str("->"),
            TokenKind::End => f.write_str("the end of the text"),
        }
    }
}

/// Why text is not accepted, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ReadError {
    pub line: usize,
    pub message: String,
}

/// Cuts text into words; the last is [`TokenKind::End`].
///
/// # Errors
/// A character that no word starts with; text without its closing quote.
pub fn tokens(text: &str) -> Result<Vec<Token>, ReadError> {
    let mut lexer = Lexer { rest: text, line: 1, tokens: Vec::new() };
    while lexer.next()? {}
    lexer.push(TokenKind::End);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

impl<'a> Lexer<'a> {
    fn push(&mut self, kind: TokenKind) {
        self.tokens.push(Token { kind, line: self.line });
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn next(&mut self) -> Result<bool, ReadError> {
        let Some(c) = self.rest.chars().next() else { return Ok(false) };
        match c {
            '\n' => {
                self.line += 1;
                self.take(1);
            }
            c if c.is_whitespace() => {
                self.take(c.len_utf8());
            }
            // A comment for others: values that the simulator shows.
            '/' if self.rest.starts_with("// report ") => {
                self.take(2);
            }
            '/' if self.rest.starts_with("//") => {
                self.take_while(|c| c != '\n');
            }
            '%' => {
                self.take(1);
                let name = self.take_while(in_word).to_owned();
                self.push(TokenKind::Value(name));
            }
            '"' => self.text()?,
            '-' if self.rest.starts_with("->") => {
                self.take(2);
                self.push(TokenKind::Arrow);
            }
            '-' | '0'..='9' => self.number(),
            '!' | '#' | '@' => {
                let sign = self.take(1);
                let word = format!("{sign}{}", self.take_while(in_word));
                self.push(TokenKind::Word(word));
            }
            c if in_word(c) => {
                let word = self.take_while(in_word).to_owned();
                self.push(TokenKind::Word(word));
            }
            '(' | ')' | '{' | '}' | '[' | ']' | '<' | '>' | ',' | ':' | '=' | '?' => {
                self.take(1);
                self.push(TokenKind::Symbol(c));
            }
            other => return Err(self.error(format!("`{}` starts no word", other.escape_default()))),
        }
        Ok(true)
    }

    /// Digits with a fraction and an exponent; extents such as `64x` end before the `x`.
    fn number(&mut self) {
        let start = self.rest;
        if self.rest.starts_with('-') {
            self.take(1);
        }
        if self.rest.starts_with("0x") && self.rest[2..].starts_with(|c: char| c.is_ascii_hexdigit()) {
            self.take(2);
            self.take_while(|c| c.is_ascii_hexdigit());
        } else {
            self.take_while(|c| c.is_ascii_digit());
            if self.rest.starts_with('.') {
                self.take(1);
                self.take_while(|c| c.is_ascii_digit());
            }
            if self.rest.starts_with("e+") || self.rest.starts_with("e-") {
                self.take(2);
                self.take_while(|c| c.is_ascii_digit());
            }
        }
        let length = start.len() - self.rest.len();
        self.push(TokenKind::Number(start[..length].to_owned()));
    }

    fn text(&mut self) -> Result<(), ReadError> {
        self.take(1);
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| !matches!(c, '"' | '\\' | '\n')));
            match self.rest.chars().next() {
                Some('"') => {
                    self.take(1);
                    break;
                }
                Some('\\') if self.rest.len() > 1 && self.rest.is_char_boundary(2) => {
                    text.push_str(&self.take(2)[1..]);
                }
                _ => return Err(self.error("text without its closing quote".to_owned())),
            }
        }
        self.push(TokenKind::Text(text));
        Ok(())
    }

    fn error(&self, message: String) -> ReadError {
        ReadError { line: self.line, message }
    }
}
