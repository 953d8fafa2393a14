//! Request identifiers: text or a 64-bit integer, echoed with the same type.

use serde_json::Value;

/// What a client calls one of its requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A text identifier, kept as it was sent.
    Text(String),
    /// An integer identifier.
    Number(i64),
}

impl Id {
    /// Takes an identifier out of JSON. `None` for null, booleans, fractions,
    /// arrays and objects, which identify nothing.
    pub fn from_value(value: &Value) -> Option<Id> {
        match value {
            Value::String(text) => Some(Id::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(Id::Number),
            _ => None,
        }
    }

    /// The identifier as JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Id::Text(text) => Value::String(text.clone()),
            Id::Number(number) => Value::from(*number),
        }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Text(text) => f.write_str(text),
            Id::Number(number) => write!(f, "{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_the_json_type() {
        for value in [json!("a"), json!(""), json!(0), json!(-7), json!(i64::MAX), json!(i64::MIN)]
        {
            assert_eq!(Id::from_value(&value).map(|id| id.to_value()), Some(value));
        }
    }

    #[test]
    fn refuses_what_identifies_nothing() {
        for value in [json!(null), json!(true), json!(1.5), json!(1.0), json!([1]), json!({})] {
            assert_eq!(Id::from_value(&value), None, "{value}");
        }
    }
}
