//! Field selection: which paths a method offers, and cutting a reply down to them.

use serde_json::{Map, Value};

use crate::error::{BridgeError, ErrorCode};
use crate::shapes::TRUNCATED;

/// The schema of one row: the reply itself, or what its `items` hold.
pub(crate) fn row_mut(schema: &mut Value, list: bool) -> &mut Value {
    let found = list && schema.pointer("/properties/items/items").is_some();
    if found {
        return schema.pointer_mut("/properties/items/items").expect("looked up just above");
    }
    schema
}

/// The paths a reply offers for selection, in text order.
pub(crate) fn paths(schema: &Value, list: bool, nested: &[&str]) -> Vec<String> {
    let row = if list { schema.pointer("/properties/items/items") } else { Some(schema) };
    let mut paths: Vec<String> = row
        .and_then(|row| row.get("properties")?.as_object())
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    paths.extend(nested.iter().map(|path| (*path).to_owned()));
    paths.sort_unstable();
    paths
}

/// The wanted members of a reply, as a tree.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Selection {
    members: Vec<(String, Option<Selection>)>,
}

impl Selection {
    /// Reads `projection.fields` of a checked request; `None` selects everything.
    pub(crate) fn of(params: &Value, identity: &[&str]) -> Result<Option<Selection>, BridgeError> {
        let Some(fields) = params.pointer("/projection/fields").and_then(Value::as_array) else {
            return Ok(None);
        };
        let mut selection = Selection::default();
        let mut seen: Vec<&str> = Vec::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            let path = field.as_str().unwrap_or_default();
            if seen.contains(&path) {
                let message = format!("the path {path} is listed twice; list it once");
                return Err(BridgeError::new(ErrorCode::DuplicateField, message)
                    .at(&format!("/projection/fields/{index}")));
            }
            seen.push(path);
            selection.add(path);
        }
        // Nobody may choose not to hear that an answer was cut.
        for name in identity.iter().chain([&TRUNCATED]) {
            selection.add(name);
        }
        Ok(Some(selection))
    }

    /// What a method answers when nothing in particular is asked for.
    pub(crate) fn brief(members: &[&str], identity: &[&str]) -> Selection {
        let mut selection = Selection::default();
        for name in members.iter().chain(identity).chain([&TRUNCATED]) {
            selection.add(name);
        }
        selection
    }

    fn add(&mut self, path: &str) {
        let (head, rest) = match path.split_once('.') {
            Some((head, rest)) => (head, Some(rest)),
            None => (path, None),
        };
        match (self.members.iter_mut().find(|(name, _)| name == head), rest) {
            (None, None) => self.members.push((head.to_owned(), None)),
            (None, Some(rest)) => {
                let mut below = Selection::default();
                below.add(rest);
                self.members.push((head.to_owned(), Some(below)));
            }
            (Some((_, below)), None) => *below = None,
            (Some((_, Some(below))), Some(rest)) => below.add(rest),
            // The whole parent is wanted already.
            (Some((_, None)), Some(_)) => {}
        }
    }

    /// True when the member, or something below it, is wanted.
    pub(crate) fn wants(&self, member: &str) -> bool {
        self.members.iter().any(|(name, _)| name == member)
    }

    /// Cuts a reply: each row of a list, or the reply itself.
    pub(crate) fn apply(&self, reply: &mut Value, list: bool) {
        match reply.get_mut("items") {
            Some(Value::Array(rows)) if list => rows.iter_mut().for_each(|row| self.cut(row)),
            _ => self.cut(reply),
        }
    }

    fn cut(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.cut(item)),
            Value::Object(object) => {
                let mut kept = Map::with_capacity(self.members.len());
                for (name, mut member) in std::mem::take(object) {
                    let Some((_, below)) = self.members.iter().find(|(wanted, _)| *wanted == name)
                    else {
                        continue;
                    };
                    if let Some(below) = below {
                        below.cut(&mut member);
                    }
                    kept.insert(name, member);
                }
                *object = kept;
            }
            _ => {}
        }
    }
}

/// Removes null members: an unknown value is left out, never null.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Object(object) => {
            if object.values().any(Value::is_null) {
                object.retain(|_, member| !member.is_null());
            }
            object.values_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cut(reply: Value, fields: &[&str]) -> Value {
        let params = json!({ "projection": { "fields": fields } });
        let mut reply = reply;
        let list = reply.get("items").is_some();
        let selection =
            Selection::of(&params, &["entry"]).expect("no path twice").expect("has fields");
        selection.apply(&mut reply, list);
        reply
    }

    #[test]
    fn the_identity_stays_and_paths_reach_into_arrays() {
        let row = json!({"entry": "a", "name": "b", "parameters": [{"name": "p", "ordinal": 0}, {"name": "q", "ordinal": 1}]});
        assert_eq!(
            cut(row, &["parameters.name"]),
            json!({"entry": "a", "parameters": [{"name": "p"}, {"name": "q"}]})
        );
    }

    #[test]
    fn a_parent_beside_its_child_keeps_the_whole_parent() {
        let row = json!({"entry": "a", "body": {"start": 1, "end": 2}});
        for fields in [["body", "body.start"], ["body.start", "body"]] {
            assert_eq!(cut(row.clone(), &fields), row);
        }
    }

    #[test]
    fn lists_keep_their_cursor_and_progress() {
        let page = json!({"items": [{"entry": "a", "name": "n"}], "next_cursor": "c", "scan": {"complete": false}});
        assert_eq!(
            cut(page, &["entry"]),
            json!({"items": [{"entry": "a"}], "next_cursor": "c", "scan": {"complete": false}})
        );
    }

    #[test]
    fn a_repeated_path_is_refused_where_it_repeats() {
        let params = json!({"projection": {"fields": ["a", "b", "a"]}});
        let error = Selection::of(&params, &[]).expect_err("a is listed twice");
        assert_eq!(error.code, ErrorCode::DuplicateField);
        assert_eq!(error.target, "/params/projection/fields/2");
    }

    #[test]
    fn nulls_vanish_at_every_depth() {
        let mut value = json!({"a": null, "b": [{"c": null, "d": 1}], "e": {}});
        drop_nulls(&mut value);
        assert_eq!(value, json!({"b": [{"d": 1}], "e": {}}));
    }
}
