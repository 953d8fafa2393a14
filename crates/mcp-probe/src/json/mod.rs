//! JSON that loses nothing: member order, duplicate names, numbers of any size
//! and the exact spelling of strings all survive a round trip. It is not a
//! general data binding layer; the probe only looks at, compares and prints.

mod parse;
mod print;
mod skim;

pub use parse::{ParseErrorKind, parse, parse_lossy};
pub use print::quote;
pub use skim::{Skim, skim};
use std::sync::Arc;

/// A JSON text value: what it means, and how it was spelled if that differs
/// from the way the probe would spell it.
/// A copy shares the text: messages of many megabytes are passed around.
#[derive(Debug, Clone)]
pub struct Text {
    value: Arc<str>,
    raw: Option<Arc<str>>,
}

impl Text {
    /// The decoded text.
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// The spelling between the quotes, when it is not the probe's own.
    pub fn raw(&self) -> Option<&str> {
        self.raw.as_deref()
    }

    fn spelled(value: String, raw: &str) -> Self {
        let mut own = String::with_capacity(raw.len());
        print::escape(&value, &mut own);
        let raw = (own != raw).then(|| raw.into());
        Text { value: value.into(), raw }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Text {}

impl From<&str> for Text {
    fn from(value: &str) -> Self {
        Text { value: value.into(), raw: None }
    }
}

/// One JSON value. Equality is by meaning of strings and spelling of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as the digits it was written with.
    Number(Box<str>),
    /// A string.
    String(Text),
    /// An array.
    Array(Vec<Json>),
    /// Members in the order they came, duplicates included.
    Object(Vec<(Text, Json)>),
}

impl Json {
    /// An empty object, to be filled by [`Json::with`].
    pub fn object() -> Json {
        Json::Object(Vec::new())
    }

    /// Adds a member at the end.
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Json {
        self.push(name, value);
        self
    }

    /// Adds a member at the end unless the value is absent.
    pub fn with_some(self, name: &str, value: Option<impl Into<Json>>) -> Json {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a member at the end of an object; anything else is left alone.
    pub fn push(&mut self, name: &str, value: impl Into<Json>) {
        if let Json::Object(members) = self {
            members.push((name.into(), value.into()));
        }
    }

    /// Sets a member in place, or adds it at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Json>) {
        let value = value.into();
        match self.get_mut(name) {
            Some(slot) => *slot = value,
            None => self.push(name, value),
        }
    }

    /// Removes every member of that name; says whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let Json::Object(members) = self else {
            return false;
        };
        let before = members.len();
        members.retain(|(key, _)| key.as_str() != name);
        members.len() != before
    }

    /// The member of that name; of duplicates the last, as most parsers take.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members().iter().rev().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }

    /// Like [`Json::get`], to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        let Json::Object(members) = self else {
            return None;
        };
        members.iter_mut().rev().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }

    /// Follows member names separated by `/`; array items by number.
    pub fn at(&self, path: &str) -> Option<&Json> {
        path.split('/').filter(|part| !part.is_empty()).try_fold(self, |here, part| match here {
            Json::Array(items) => items.get(part.parse::<usize>().ok()?),
            _ => here.get(part),
        })
    }

    /// The text at a path, if there is text.
    pub fn text_at(&self, path: &str) -> Option<&str> {
        self.at(path).and_then(Json::as_str)
    }

    /// Members of an object; nothing for any other value.
    pub fn members(&self) -> &[(Text, Json)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    /// Items of an array; nothing for any other value.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The value of `true` and `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of a number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// The value of a number, near enough.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Json::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }

    /// Whether this is an array.
    pub fn is_array(&self) -> bool {
        matches!(self, Json::Array(_))
    }

    /// The word JSON Schema uses for the kind of this value.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Paths of member names that occur more than once in one object.
    pub fn duplicate_names(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.walk("", &mut |path, value| {
            let mut seen = std::collections::HashSet::new();
            for (key, _) in value.members() {
                if !seen.insert(key.as_str()) && found.len() < 64 {
                    found.push(format!("{path}/{}", key.as_str()));
                }
            }
        });
        found
    }

    /// Visits this value and everything inside, with the path of each.
    pub fn walk(&self, path: &str, visit: &mut dyn FnMut(&str, &Json)) {
        visit(path, self);
        match self {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.walk(&format!("{path}/{index}"), visit);
                }
            }
            Json::Object(members) => {
                for (key, value) in members {
                    value.walk(&format!("{path}/{}", key.as_str()), visit);
                }
            }
            _ => {}
        }
    }

    /// Numbers that a double cannot hold exactly, with their paths.
    pub fn wide_numbers(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.walk("", &mut |path, value| {
            if let Json::Number(digits) = value {
                let whole = digits.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                let wide = match digits.parse::<i128>() {
                    Ok(number) => number.unsigned_abs() > (1 << 53),
                    Err(_) => true,
                };
                if whole && wide && found.len() < 64 {
                    found.push(format!("{path} = {digits}"));
                }
            }
        });
        found
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::String(value.into())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::String(value.as_str().into())
    }
}

impl From<&String> for Json {
    fn from(value: &String) -> Json {
        Json::String(value.as_str().into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

macro_rules! from_integer {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Json {
            fn from(value: $kind) -> Json {
                Json::Number(value.to_string().into())
            }
        }
    )*};
}

from_integer!(i32, i64, u8, u16, u32, u64, usize);

impl From<f64> for Json {
    fn from(value: f64) -> Json {
        if value.is_finite() { Json::Number(format!("{value:.3}").into()) } else { Json::Null }
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Json {
        Json::Array(values.into_iter().map(Into::into).collect())
    }
}

/// Builds an object: `obj! { "a": 1, "b": obj! {} }`.
#[macro_export]
macro_rules! obj {
    ($($name:tt : $value:expr),* $(,)?) => {
        $crate::json::Json::object()$(.with($name, $value))*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_other_parsers_lose() {
        for text in [
            r#"{"b":1,"a":2,"b":3}"#,
            r#"{"id":123456789012345678901234567890,"x":1.10,"y":1e400,"z":-0}"#,
            r#"["\u00e9","é","\/","/","\ud83d\ude00","\ud800"]"#,
            r#"{"":{"":[]}}"#,
        ] {
            let value = parse(text.as_bytes()).unwrap();
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn last_duplicate_wins_and_is_reported() {
        let value = parse(br#"{"a":1,"a":2,"n":{"x":1,"x":1}}"#).unwrap();
        assert_eq!(value.get("a").and_then(Json::as_i64), Some(2));
        assert_eq!(value.duplicate_names(), ["/a", "/n/x"]);
    }

    #[test]
    fn wide_numbers_are_found() {
        let value = parse(br#"{"a":9007199254740993,"b":9007199254740992,"c":1.5}"#).unwrap();
        assert_eq!(value.wide_numbers(), ["/a = 9007199254740993"]);
    }

    #[test]
    fn paths_reach_into_arrays() {
        let value = obj! { "a": vec![obj! { "b": "x" }] };
        assert_eq!(value.text_at("a/0/b"), Some("x"));
        assert_eq!(value.at("a/1"), None);
    }
}
