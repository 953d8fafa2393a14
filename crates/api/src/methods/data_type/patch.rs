//! Changing a data type: members of structs and unions, values of enums.

use std::collections::HashMap;
use std::sync::Arc;

use program::composite::{Composite, MemberFault};
use program::{TypeId, TypeKind};

use super::edit::{DataTypePatch, FieldEdit, FieldEdits, ValueEdit, ValueEdits};
use super::{DataType, PathSelector, described, find, kind_word};
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::methods::name;
use crate::shapes::Patch;
use crate::view::Edit;

const DEFAULT_FIELD: &str = "field";
const DEFAULT_FIELD_TYPE: &str = "byte";
const DEFAULT_VALUE: &str = "VALUE";

/// Changes a struct, union or enum; everything that holds it follows.
pub(super) fn patch(
    edit: &mut Edit<'_>,
    request: Patch<PathSelector, DataTypePatch>,
) -> Answer<DataType> {
    let id = find(edit.program, &request.selector.path)?;
    let known = edit.program.types.get(id).map_or("type", |known| kind_word(&known.kind));
    let (wanted, before) = (request.patch.kind(), edit.program.types.clone());
    if known != wanted {
        let message = format!("{} is a {known}, not a {wanted}", request.selector.path.trim());
        return Err(invalid(message).at("/patch/kind"));
    }
    match request.patch {
        DataTypePatch::Struct(edits) => fields(edit, id, &edits, false)?,
        DataTypePatch::Union(edits) => fields(edit, id, &edits, true)?,
        DataTypePatch::Enum(edits) => values(edit, id, &edits)?,
    }
    edit.program
        .settle_types(&before, &[id])
        .map_err(|fault| invalid(fault.to_string()).at("/patch"))?;
    described(edit, id)
}

fn invalid(message: impl Into<String>) -> BridgeError {
    BridgeError::new(ErrorCode::InvalidRequest, message)
}

/// The edits of one list, each with the pointer to it.
fn each<'a, T>(
    list: &'a Option<Vec<T>>,
    name: &'static str,
) -> impl Iterator<Item = (String, &'a T)> {
    let edits = list.iter().flatten().enumerate();
    edits.map(move |(index, edit)| (format!("/patch/{name}/{index}"), edit))
}

/// Selectors of one list speak of the members as they were when the list began.
fn fields(edit: &mut Edit<'_>, id: TypeId, edits: &FieldEdits, union: bool) -> Answer<()> {
    let types = &mut edit.program.types;
    let mut composite = Composite::of(types, id).ok_or_else(BridgeError::internal)?;

    let mut doomed = Vec::new();
    for (at, edit) in each(&edits.remove_fields, "remove_fields") {
        doomed.extend(selected(&composite, edit, union, &at)?);
    }
    if !doomed.is_empty() {
        composite
            .remove(types, &doomed)
            .map_err(|fault| refused(&fault, "/patch/remove_fields"))?;
    }

    let mut renamed = Vec::new();
    for (at, edit) in each(&edits.rename_fields, "rename_fields") {
        renamed.push((only(&composite, edit, union, &at)?, new_name(edit, &at)?));
    }
    rename(&mut composite, renamed);

    let mut updated = Vec::new();
    for (at, edit) in each(&edits.update_fields, "update_fields") {
        updated.push((only(&composite, edit, union, &at)?, at, edit));
    }
    for (index, at, edit) in updated {
        if edit.data_type.is_some() || edit.length.is_some() {
            let same = composite.fields().get(index).map(|field| field.data_type);
            let data_type = match &edit.data_type {
                Some(data_type) => data_type.resolve(types, &format!("{at}/data_type"))?,
                None => same.ok_or_else(BridgeError::internal)?,
            };
            let changed = composite.retype(types, index, data_type, edit.length);
            changed.map_err(|fault| refused(&fault, &at))?;
        }
        rename(&mut composite, vec![(index, new_name(edit, &at)?)]);
    }

    for (at, edit) in each(&edits.add_fields, "add_fields") {
        let data_type = match &edit.data_type {
            Some(data_type) => data_type.resolve(types, &format!("{at}/data_type"))?,
            None => types.builtin(DEFAULT_FIELD_TYPE),
        };
        let name = field_name(edit.name.as_deref(), &format!("{at}/name"))?;
        let name = name.unwrap_or_else(|| DEFAULT_FIELD.to_owned());
        let added = match edit.offset {
            Some(_) if union => return Err(no_offset(&at)),
            Some(offset) => composite.insert(types, &name, data_type, edit.length, offset),
            None => composite.append(types, &name, data_type, edit.length),
        };
        added.map_err(|fault| refused(&fault, &at))?;
    }
    composite.store(types);
    Ok(())
}

fn rename(composite: &mut Composite, renamed: Vec<(usize, Option<String>)>) {
    for (index, name) in renamed {
        if let Some(name) = name {
            composite.rename(index, &name);
        }
    }
}

/// The members that an edit selects: by offset, else by name.
fn selected(composite: &Composite, edit: &FieldEdit, union: bool, at: &str) -> Answer<Vec<usize>> {
    if union && edit.offset.is_some() {
        return Err(no_offset(at));
    }
    let name = edit.name.as_deref().map(str::trim);
    if edit.offset.is_none() && name.is_none() {
        let message =
            if union { "give the member's name" } else { "give the member's offset or name" };
        return Err(invalid(message).at(at));
    }
    let fields = composite.fields().iter().enumerate();
    let fits = fields.filter(|(_, field)| match edit.offset {
        Some(offset) => field.offset == offset,
        None => name == Some(&*field.name),
    });
    Ok(fits.map(|(index, _)| index).collect())
}

/// The one member that an edit selects.
fn only(composite: &Composite, edit: &FieldEdit, union: bool, at: &str) -> Answer<usize> {
    let found = selected(composite, edit, union, at)?;
    let said = match (edit.offset, &edit.name) {
        (Some(offset), _) => format!("starts at offset {offset}"),
        (None, name) => {
            let name = name.as_deref().unwrap_or_default();
            format!("is called {}", name.chars().take(128).collect::<String>())
        }
    };
    let member = if edit.offset.is_some() { "offset" } else { "name" };
    match found.as_slice() {
        [index] => Ok(*index),
        [] => Err(BridgeError::not_found("field", format!("no member {said}"))
            .at(&format!("{at}/{member}"))),
        several => {
            let offsets: Vec<u32> =
                several.iter().filter_map(|i| Some(composite.fields().get(*i)?.offset)).collect();
            let message = format!(
                "{} members are meant, since each {said}; select by the other way",
                offsets.len()
            );
            Err(invalid(message).at(&format!("{at}/{member}")).with("offsets", offsets))
        }
    }
}

fn no_offset(at: &str) -> BridgeError {
    invalid("members of a union all start at its start; select them by name")
        .at(&format!("{at}/offset"))
}

fn new_name(edit: &FieldEdit, at: &str) -> Answer<Option<String>> {
    field_name(edit.new_name.as_deref(), &format!("{at}/new_name"))
}

/// A member's name as it is stored; a blank one counts as none.
fn field_name(name: Option<&str>, pointer: &str) -> Answer<Option<String>> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(None) };
    name::checked_type(name, pointer)?;
    // Blanks would make it two words in C.
    Ok(Some(name.split_whitespace().collect::<Vec<_>>().join("_")))
}

fn refused(fault: &MemberFault, at: &str) -> BridgeError {
    let (code, member) = match fault {
        MemberFault::NoLength | MemberFault::Circular => (ErrorCode::InvalidDataType, "/data_type"),
        MemberFault::BitField => (ErrorCode::InvalidRequest, "/data_type"),
        MemberFault::TooShort(_) | MemberFault::ArrayLength => {
            (ErrorCode::InvalidRequest, "/length")
        }
        MemberFault::NoRoom(_) | MemberFault::TooLarge => (ErrorCode::InvalidRequest, ""),
    };
    let error = BridgeError::new(code, fault.to_string()).at(&format!("{at}{member}"));
    match fault {
        MemberFault::NoRoom(room) => error.with("available", *room),
        MemberFault::TooShort(length) => error.with("length", *length),
        _ => error,
    }
}

/// A value's name, number and comment.
type Value = (Arc<str>, i64, Arc<str>);

/// As for members, selectors of one list speak of the values as they were when it began.
fn values(edit: &mut Edit<'_>, id: TypeId, edits: &ValueEdits) -> Answer<()> {
    let types = &mut edit.program.types;
    let mut new = types.get(id).map(|known| program::DataType::clone(known));
    let Some(program::DataType { kind: TypeKind::Enum { values }, length, .. }) = &mut new else {
        return Err(BridgeError::internal());
    };

    let mut doomed = Vec::new();
    for (at, edit) in each(&edits.remove_values, "remove_values") {
        if edit.name.is_none() && edit.value.is_none() {
            return Err(invalid("give the value's name or its number").at(&at));
        }
        doomed.extend(values.iter().position(|value| edit.means(value)));
    }
    let mut index = 0;
    values.retain(|_| {
        index += 1;
        !doomed.contains(&(index - 1))
    });

    let mut renamed = Vec::new();
    for (at, edit) in each(&edits.rename_values, "rename_values") {
        let Some(name) = value_name(edit.new_name.as_deref(), &format!("{at}/new_name"))? else {
            return Err(invalid("give the new name").at(&format!("{at}/new_name")));
        };
        let index = named(values, edit, &at)?;
        renamed.push(Change { index, name: Some(name), number: None, at });
    }
    apply(values, &renamed)?;

    let mut updated = Vec::new();
    for (at, edit) in each(&edits.update_values, "update_values") {
        let name = value_name(edit.new_name.as_deref(), &format!("{at}/new_name"))?;
        updated.push(Change { index: named(values, edit, &at)?, name, number: edit.value, at });
    }
    apply(values, &updated)?;

    let mut numbers: Vec<(i64, String)> =
        updated.into_iter().filter_map(|change| Some((change.number?, change.at))).collect();
    for (at, edit) in each(&edits.add_values, "add_values") {
        let name = value_name(edit.name.as_deref(), &format!("{at}/name"))?;
        let name: Arc<str> = name.as_deref().unwrap_or(DEFAULT_VALUE).into();
        if values.iter().any(|(known, ..)| *known == name) {
            return Err(taken(&name, &format!("{at}/name")));
        }
        values.push((name, edit.value.unwrap_or(0), "".into()));
        numbers.push((edit.value.unwrap_or(0), at));
    }
    fitting(values, length.unwrap_or(8), &numbers)?;
    values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    if let Some(new) = new {
        types.replace(id, new);
    }
    Ok(())
}

/// What becomes of a value, and the pointer to the edit.
struct Change {
    index: usize,
    name: Option<String>,
    number: Option<i64>,
    at: String,
}

impl ValueEdit {
    /// Whether this edit removes a value: by name, by number, or by both.
    fn means(&self, (name, number, _): &Value) -> bool {
        self.name.as_deref().is_none_or(|wanted| wanted.trim() == &**name)
            && self.value.is_none_or(|wanted| wanted == *number)
    }
}

/// The value that an edit names.
fn named(values: &[Value], edit: &ValueEdit, at: &str) -> Answer<usize> {
    let at = format!("{at}/name");
    let Some(name) = edit.name.as_deref().map(str::trim) else {
        return Err(invalid("give the value's name").at(&at));
    };
    values.iter().position(|(known, ..)| **known == *name).ok_or_else(|| {
        let shown: String = name.chars().take(128).collect();
        BridgeError::not_found("enum_value", format!("no value is called {shown}")).at(&at)
    })
}

/// Changes names and numbers; afterwards no two values may share a name.
fn apply(values: &mut [Value], changes: &[Change]) -> Answer<()> {
    for change in changes {
        let Some(value) = values.get_mut(change.index) else { continue };
        if let Some(name) = &change.name {
            value.0 = name.as_str().into();
        }
        value.1 = change.number.unwrap_or(value.1);
    }
    let mut count: HashMap<&str, usize> = HashMap::new();
    for (name, ..) in values.iter() {
        *count.entry(name).or_default() += 1;
    }
    for change in changes {
        let Some(name) = &change.name else { continue };
        if count.get(name.as_str()).is_some_and(|count| *count > 1) {
            return Err(taken(name, &format!("{}/new_name", change.at)));
        }
    }
    Ok(())
}

fn taken(name: &str, at: &str) -> BridgeError {
    invalid(format!("another value of the enum is called {name}")).at(at)
}

fn value_name(name: Option<&str>, pointer: &str) -> Answer<Option<String>> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(None) };
    Ok(Some(name::checked(name, pointer)?.to_owned()))
}

/// All numbers fit the enum's size, as signed ones when any is negative. `edits` are the numbers
/// that were given, with the pointers to their edits.
fn fitting(values: &[Value], size: u32, edits: &[(i64, String)]) -> Answer<()> {
    if size >= 8 {
        return Ok(());
    }
    let signed = values.iter().any(|(_, number, _)| *number < 0);
    let bits = size * 8 - u32::from(signed);
    let (least, most) = (if signed { -(1i64 << bits) } else { 0 }, (1i64 << bits) - 1);
    let fits = |number: &i64| (least..=most).contains(number);
    let Some((name, number, _)) = values.iter().find(|(_, number, _)| !fits(number)) else {
        return Ok(());
    };
    // One that was there before may not fit any more beside a negative one.
    let own = edits.iter().find(|(number, _)| !fits(number));
    let blamed = own.or_else(|| edits.iter().find(|(number, _)| *number < 0));
    let at = blamed.map_or_else(|| "/patch".to_owned(), |(_, at)| format!("{at}/value"));
    let message =
        format!("{name} = {number} does not fit: {size} bytes hold {least} to {most} here");
    Err(invalid(message).at(&at).with("minimum", least).with("maximum", most))
}
