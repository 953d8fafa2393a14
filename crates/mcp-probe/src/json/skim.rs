//! Reading only the outermost members of a message: what a recorder in the data
//! path can afford on messages of any size.

use super::parse::Parser;
use super::{Json, Text};
use memchr::memchr3;

/// The outermost members that say what kind of message this is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Skim {
    /// The `id` member, when it is a scalar.
    pub id: Option<Json>,
    /// The `method` member, when it is text.
    pub method: Option<String>,
    /// Whether there is a `result` member.
    pub result: bool,
    /// Whether there is an `error` member.
    pub error: bool,
    /// Whether the text is an array.
    pub batch: bool,
    /// Where the bytes of the id are.
    pub id_span: Option<(usize, usize)>,
}

/// Looks at the outermost members of an object. Nothing inside is checked.
pub fn skim(bytes: &[u8]) -> Option<Skim> {
    let mut parser = Parser::new(bytes);
    let mut skim = Skim::default();
    parser.blanks();
    if parser.peek() == Some(b'[') {
        skim.batch = true;
        return Some(skim);
    }
    parser.expect(b'{').ok()?;
    parser.blanks();
    while parser.peek() != Some(b'}') {
        let key = parser.text().ok()?;
        parser.blanks();
        parser.expect(b':').ok()?;
        parser.blanks();
        note(&key, &mut parser, &mut skim)?;
        parser.blanks();
        match parser.peek()? {
            b',' => parser.at += 1,
            b'}' => break,
            _ => return None,
        }
        parser.blanks();
    }
    Some(skim)
}

fn note(key: &Text, parser: &mut Parser<'_>, skim: &mut Skim) -> Option<()> {
    let start = parser.at;
    note_value(key, parser, skim)?;
    if key.as_str() == "id" {
        skim.id_span = Some((start, parser.at));
    }
    Some(())
}

fn note_value(key: &Text, parser: &mut Parser<'_>, skim: &mut Skim) -> Option<()> {
    match (key.as_str(), parser.peek()?) {
        ("method", b'"') => skim.method = Some(parser.text().ok()?.as_str().into()),
        ("id", b'"') => skim.id = Some(Json::String(parser.text().ok()?)),
        ("id", b'-' | b'0'..=b'9') => skim.id = Some(parser.number().ok()?),
        (name, first) => {
            skim.result |= name == "result";
            skim.error |= name == "error";
            if name == "id" && first == b'n' {
                skim.id = Some(Json::Null);
            }
            skip(parser)?;
        }
    }
    Some(())
}

/// Moves past one value by counting brackets, without looking inside.
fn skip(parser: &mut Parser<'_>) -> Option<()> {
    match parser.peek()? {
        b'"' => parser.raw_text().ok().map(|_| ()),
        b'{' | b'[' => {
            let mut depth = 0usize;
            loop {
                match parser.peek()? {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    b'"' => {
                        parser.raw_text().ok()?;
                        continue;
                    }
                    _ => {
                        parser.at += plain_run(&parser.bytes[parser.at..]);
                        continue;
                    }
                }
                parser.at += 1;
                if depth == 0 {
                    return Some(());
                }
            }
        }
        _ => {
            let rest = &parser.bytes[parser.at..];
            parser.at += memchr3(b',', b'}', b']', rest).unwrap_or(rest.len());
            Some(())
        }
    }
}

fn plain_run(rest: &[u8]) -> usize {
    let stop = |byte: &u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b'"');
    rest.iter().position(stop).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_outermost_members() {
        let text = br#"{"params":{"id":9,"method":"no"},"id":12345678901234567890,"method":"a/b"}"#;
        let skim = skim(text).unwrap();
        assert_eq!(skim.id.unwrap().to_string(), "12345678901234567890");
        assert_eq!(skim.method.as_deref(), Some("a/b"));
        assert!(!skim.result && !skim.error);
    }

    #[test]
    fn answers_are_told_apart() {
        assert!(skim(br#"{"id":"a","result":[1,"}",{}]}"#).unwrap().result);
        assert!(skim(br#"{"id":null,"error":{"code":1}}"#).unwrap().error);
        assert!(skim(b"[1]").unwrap().batch);
        assert!(skim(b"hello").is_none());
        assert!(skim(br#"{"a":"#).is_none());
    }
}
