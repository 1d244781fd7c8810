//! Tokens of the IR text.

use super::ParseError;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// `%name`, without the sign.
    Value(String),
    Ident(String),
    Text(String),
    Int(i64),
    Float(f64),
    /// One of `( ) { } [ ] < > , : ; = @`.
    Punct(char),
    End,
}

/// A token with the line and column where it starts.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub token: Token,
    pub line: u32,
    pub column: u32,
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: u32,
    column: u32,
}

/// Splits text into tokens, with [`Token::End`] as the last. `//` starts a comment.
pub(super) fn tokens(text: &str) -> Result<Vec<Located>, ParseError> {
    let mut lexer = Lexer { rest: text.chars().peekable(), line: 1, column: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space()?;
        let (line, column) = (lexer.line, lexer.column);
        let token = lexer.token().map_err(|message| ParseError { message, line, column })?;
        let end = token == Token::End;
        tokens.push(Located { token, line, column });
        if end {
            return Ok(tokens);
        }
    }
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn skip_space(&mut self) -> Result<(), ParseError> {
        while let Some(c) = self.rest.peek().copied() {
            if c == '/' {
                let (line, column) = (self.line, self.column);
                self.next();
                if self.rest.peek() != Some(&'/') {
                    return Err(ParseError { message: "unexpected `/`".to_owned(), line, column });
                }
                while self.rest.peek().is_some_and(|c| *c != '\n') {
                    self.next();
                }
            } else if c.is_whitespace() {
                self.next();
            } else {
                break;
            }
        }
        Ok(())
    }

    fn token(&mut self) -> Result<Token, String> {
        let Some(c) = self.rest.peek().copied() else { return Ok(Token::End) };
        match c {
            '(' | ')' | '{' | '}' | '[' | ']' | '<' | '>' | ',' | ':' | ';' | '=' | '@' => {
                self.next();
                Ok(Token::Punct(c))
            }
            '%' => {
                self.next();
                match self.word() {
                    name if name.is_empty() => Err("expected a name after `%`".to_owned()),
                    name => Ok(Token::Value(name)),
                }
            }
            '"' => self.text(),
            c if c.is_ascii_digit() || c == '-' => self.number(),
            c if c.is_ascii_alphabetic() || c == '_' => Ok(self.word_token()),
            c => Err(format!("unexpected `{}`", c.escape_default())),
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.peek().copied().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            word.push(c);
            self.next();
        }
        word
    }

    fn word_token(&mut self) -> Token {
        match self.word() {
            word if word == "inf" => Token::Float(f64::INFINITY),
            word => Token::Ident(word),
        }
    }

    fn number(&mut self) -> Result<Token, String> {
        let mut text = String::new();
        while let Some(c) = self.rest.peek().copied() {
            let exponent = text.ends_with('e') && !text.starts_with("0x");
            if !(c.is_ascii_alphanumeric() || c == '.' || (c == '-' && (text.is_empty() || exponent))) {
                break;
            }
            text.push(c);
            self.next();
        }
        let wrong = || format!("`{text}` is not a number");
        if let Some(digits) = text.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).map(|bits| Token::Int(bits as i64)).map_err(|_| wrong());
        }
        if let Ok(n) = text.parse::<i64>() {
            return Ok(Token::Int(n));
        }
        let is_float = text == "-inf" || text.contains(['.', 'e']);
        text.parse::<f64>().ok().filter(|_| is_float).map(Token::Float).ok_or_else(wrong)
    }

    fn text(&mut self) -> Result<Token, String> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err("the text has no closing quote".to_owned()),
                Some('"') => return Ok(Token::Text(text)),
                Some('\\') => text.push(self.escape()?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        match self.next() {
            Some('n') => Ok('\n'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') if self.next() == Some('{') => {
                let digits = self.word();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                match (code, self.next()) {
                    (Some(c), Some('}')) => Ok(c),
                    _ => Err("unknown escape".to_owned()),
                }
            }
            _ => Err("unknown escape".to_owned()),
        }
    }
}
