//! Texts that stand for an object over MCP: C for a data type, hex digits for bytes, names for a
//! projection, `START..END` for a scan, a number or a cursor for a page.
//!
//! Clients that know one type per parameter are shown a text where the contract has an object
//! with many shapes or levels; what they send is turned into that object before it is checked.
//! A bare number for a page and a list of names for a projection are understood as well.

use serde_json::{Value, json};

/// What a text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// A data type as written in C, such as `unsigned char *[4]`.
    DataType,
    /// Bytes as hex digits; blanks between them do not count.
    Bytes,
    /// A register's name, or a place as `Stack[-0x18]:4`.
    Storage,
    /// Names of members, with commas between them; `*` for all.
    Projection,
    /// Two addresses, `START..END`, either of which may be left out.
    Scan,
    /// A number of milliseconds.
    Timeout,
    /// A number of milliseconds to wait for the end of analysis.
    Wait,
    /// A number of rows, a cursor, or both with a blank between.
    Page,
}

impl TextForm {
    /// The text form that a published schema has beside its object.
    #[must_use]
    pub fn of(schema: &Value) -> Option<TextForm> {
        if let Some(alternatives) = schema.get("oneOf").and_then(Value::as_array) {
            return alternatives.iter().find_map(|node| TextForm::by(&names(node)));
        }
        // One alternative alone is no data type yet, nor a storage.
        TextForm::by(&names(schema)).filter(|form| !form.is_union())
    }

    fn is_union(self) -> bool {
        matches!(self, TextForm::DataType | TextForm::Storage)
    }

    /// The form of an object with these members; of an object in several kinds, by any of them.
    pub(crate) fn by(members: &[&str]) -> Option<TextForm> {
        let has = |name: &str| members.contains(&name);
        match members.len() {
            2 if has("kind") && has("declaration") => Some(TextForm::DataType),
            2 if has("kind") && has("register") => Some(TextForm::Storage),
            3 if has("encoding") && has("data") && has("length") => Some(TextForm::Bytes),
            1 if has("fields") => Some(TextForm::Projection),
            2 if has("limit") && has("cursor") => Some(TextForm::Page),
            _ if has("range") && has("timeout_ms") => Some(TextForm::Scan),
            1 | 2 if has("timeout_ms") => Some(TextForm::Timeout),
            1 if has("wait_ms") => Some(TextForm::Wait),
            _ => None,
        }
    }

    /// The object that a number or a list stands for, as models write them where a text of digits
    /// or of names is asked for.
    pub(crate) fn read_plain(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (TextForm::Page | TextForm::Timeout | TextForm::Wait, Value::Number(number)) => {
                self.read(&number.to_string()).filter(|_| number.is_u64())
            }
            (TextForm::Projection, Value::Array(names)) => {
                names.iter().all(Value::is_string).then(|| json!({ "fields": names }))
            }
            _ => None,
        }
    }

    /// The object that a text stands for; nothing when the text cannot mean it.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            _ if text.is_empty() => None,
            TextForm::DataType => Some(json!({"kind": "c", "declaration": text})),
            TextForm::Bytes => {
                let data: String = text.split_whitespace().collect();
                let hex = data.bytes().all(|byte| byte.is_ascii_hexdigit());
                hex.then(|| json!({"encoding": "hex", "data": data, "length": data.len() / 2}))
            }
            TextForm::Storage if text.contains(':') => {
                Some(json!({"kind": "serialization", "serialization": text}))
            }
            TextForm::Storage => Some(json!({"kind": "register", "register": text})),
            TextForm::Projection if text == "*" => Some(json!({})),
            TextForm::Projection => {
                let names = text.split([',', ' ']).filter(|name| !name.is_empty());
                Some(json!({ "fields": names.collect::<Vec<_>>() }))
            }
            TextForm::Timeout => Some(json!({ "timeout_ms": text.parse::<u32>().ok()? })),
            TextForm::Wait => Some(json!({ "wait_ms": text.parse::<u32>().ok()? })),
            TextForm::Page => {
                let mut page = json!({});
                for word in text.split_whitespace() {
                    match word.parse::<u32>() {
                        Ok(limit) => page["limit"] = limit.into(),
                        Err(_) => page["cursor"] = word.into(),
                    }
                }
                Some(page)
            }
            TextForm::Scan => {
                let (start, end) = text.split_once("..")?;
                let mut range = json!({});
                for (name, place) in [("start", start.trim()), ("end", end.trim())] {
                    if !place.is_empty() {
                        range[name] = place.into();
                    }
                }
                Some(json!({ "range": range }))
            }
        }
    }
}

fn names(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_the_object_it_stands_for() {
        let rows = [
            (TextForm::DataType, " int *[4] ", json!({"kind": "c", "declaration": "int *[4]"})),
            (
                TextForm::Bytes,
                "7f 45\n4c46",
                json!({"encoding": "hex", "data": "7f454c46", "length": 4}),
            ),
            (TextForm::Storage, "RDI", json!({"kind": "register", "register": "RDI"})),
            (
                TextForm::Storage,
                "Stack[-0x18]:4",
                json!({"kind": "serialization", "serialization": "Stack[-0x18]:4"}),
            ),
            (TextForm::Projection, "name, body.start", json!({"fields": ["name", "body.start"]})),
            (TextForm::Projection, "*", json!({})),
            (
                TextForm::Scan,
                "main..ram:2000",
                json!({"range": {"start": "main", "end": "ram:2000"}}),
            ),
            (TextForm::Timeout, "5000", json!({"timeout_ms": 5000})),
            (TextForm::Wait, "2000", json!({"wait_ms": 2000})),
            (TextForm::Page, "20", json!({"limit": 20})),
            (TextForm::Page, "q-3_x", json!({"cursor": "q-3_x"})),
            (TextForm::Page, "20 q-3_x", json!({"limit": 20, "cursor": "q-3_x"})),
            (TextForm::Scan, "1000..", json!({"range": {"start": "1000"}})),
        ];
        for (form, text, object) in rows {
            assert_eq!(form.read(text), Some(object), "{text}");
        }
        for (form, plain, object) in [
            (TextForm::Page, json!(20), Some(json!({"limit": 20}))),
            (TextForm::Page, json!(-1), None),
            (TextForm::Timeout, json!(5000), Some(json!({"timeout_ms": 5000}))),
            (TextForm::Projection, json!(["name"]), Some(json!({"fields": ["name"]}))),
            (TextForm::Projection, json!([1]), None),
            (TextForm::DataType, json!(1), None),
        ] {
            assert_eq!(form.read_plain(&plain), object, "{plain}");
        }
        for (form, text) in
            [(TextForm::Bytes, "xyz"), (TextForm::DataType, " "), (TextForm::Scan, "1000")]
        {
            assert_eq!(form.read(text), None, "{text}");
        }
    }
}
