//! Data types and their categories.

mod category;
mod define;
mod edit;
mod patch;
pub(crate) mod reference;
pub(super) mod resolve;

use program::data_type::{Builtin, Field};
use program::{Program, TypeId, TypeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::name;
use crate::shapes::{Delete, Deleted, Get, List, MAX_NESTED, Page, Reply, cut};
use crate::view::{Edit, View};
use crate::walk::paginate;
use reference::{DataTypeReference, FunctionSignature, Signature};

/// What a write answers of the type that it made or changed.
const ECHO: &[&str] = &["kind", "length", "items"];

pub(super) fn methods() -> Vec<Method> {
    let mut rows = category::methods();
    rows.extend([
        Method::read("data_type.get", "Describe one data type with its members.", get),
        Method::read("data_type.list", "Search the program's data types, by path.", list)
            .brief(&["kind", "length"])
            .cost("Grows with the number of data types."),
        Method::write(
            "data_type.create",
            "Define a struct, union, enum, typedef or function type, also from C text.",
            define::create,
        )
        .brief(ECHO),
        Method::write(
            "data_type.patch",
            "Add, rename, change or remove members of a struct, union or enum.",
            patch::patch,
        )
        .brief(ECHO)
        .destructive(),
        Method::write(
            "data_type.upsert",
            "Define a function type or replace it; from C text, any types.",
            define::upsert,
        )
        .brief(ECHO)
        .destructive()
        .idempotent(),
        Method::write("data_type.delete", "Remove one data type.", delete)
            .destructive()
            .idempotent(),
    ]);
    rows
}

fn get(view: &View<'_>, request: Get<PathSelector>) -> Answer<DataType> {
    let id = find(&view.program, &request.selector.path)?;
    DataType::whole(&view.program, id).ok_or_else(|| no_type(&request.selector.path))
}

fn list(view: &View<'_>, request: List<DataTypeFilter>) -> Answer<Page<DataType>> {
    let filter = request.filter.unwrap_or_default();
    let program = &view.program;
    let part = name::Part::new(filter.query.as_deref(), false);
    let fits = |id: &TypeId| {
        program.types.get(*id).is_some_and(|known| {
            let category = filter.category_path.as_deref();
            let kind = filter.kind.as_deref();
            known.used
                && category.is_none_or(|category| category == &*known.category)
                && kind.is_none_or(|kind| kind.eq_ignore_ascii_case(kind_word(&known.kind)))
                && part.is_in(&known.name)
        })
    };
    let found = program.types.by_path().filter(|(_, id)| fits(id));
    let rows = found.map(|(path, id)| (path.to_string(), id)).collect();
    let page = paginate(view, request.page.as_ref(), rows, |id| DataType::brief(program, id))?;
    let items = page.items.into_iter().flatten().collect();
    Ok(Page { items, next_cursor: page.next_cursor })
}

fn delete(edit: &mut Edit<'_>, request: Delete<PathSelector>) -> Answer<Deleted> {
    let id = find(edit.program, &request.selector.path)?;
    if edit.program.remove_type(id) {
        return Ok(Deleted { deleted: true });
    }
    let message = "built-in types cannot be removed; only those the program defines can";
    Err(BridgeError::new(ErrorCode::DataTypeNotRemoved, message).at("/selector"))
}

/// A type after it was changed.
fn described(edit: &Edit<'_>, id: TypeId) -> Answer<DataType> {
    DataType::whole(edit.program, id).ok_or_else(BridgeError::internal)
}

/// The type at a path, or of a name: at the root first, then anywhere.
fn find(program: &Program, text: &str) -> Answer<TypeId> {
    let text = text.trim();
    let types = &program.types;
    let found = if text.starts_with('/') {
        types.at_path(text)
    } else {
        let at_root = types.at_path(&format!("/{}", text.replace('/', "\\/")));
        at_root.or_else(|| types.named(text).next())
    };
    found.ok_or_else(|| no_type(text))
}

fn no_type(text: &str) -> BridgeError {
    let shown: String = text.chars().take(128).collect();
    let message = format!("there is no data type {shown}; data_type.list searches those in use");
    BridgeError::not_found("data_type", message).at("/selector/path")
}

/// The wire word for what a type is made of.
fn kind_word(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Builtin(Builtin::Pointer) | TypeKind::Pointer(_) => "pointer",
        TypeKind::Builtin(_) => "builtin",
        TypeKind::Array { .. } => "array",
        TypeKind::Struct { .. } => "struct",
        TypeKind::Union { .. } => "union",
        TypeKind::Enum { .. } => "enum",
        TypeKind::Typedef(_) => "typedef",
        TypeKind::Function(_) => "function",
    }
}

/// Chooses a data type.
#[derive(Debug, Deserialize, JsonSchema)]
struct PathSelector {
    /// Its path, or its name alone.
    #[schemars(length(min = 1))]
    path: String,
}

/// Which data types to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct DataTypeFilter {
    /// Part of the name, in any case.
    query: Option<String>,
    /// The exact path of the category.
    category_path: Option<String>,
    /// The kind, in any case.
    kind: Option<String>,
}

/// One data type.
#[derive(Debug, Serialize, JsonSchema)]
struct DataType {
    /// Its path: category and name.
    path: String,
    /// Its name.
    name: String,
    /// Its category.
    category_path: String,
    /// `struct`, `union`, `enum`, `typedef`, `function`, `pointer`, `array`, `builtin` or `other`.
    kind: &'static str,
    /// Its length in bytes; absent when it has none.
    length: Option<u64>,
    /// What it is for.
    description: Option<String>,
    /// Size of a struct, union or enum in bytes.
    size: Option<u64>,
    /// Members of a struct or union.
    #[schemars(length(max = 1000))]
    fields: Option<Vec<CompositeField>>,
    /// Values of an enum.
    #[schemars(length(max = 1000))]
    values: Option<Vec<EnumValue>>,
    /// What a typedef stands for.
    base_type: Option<DataTypeReference>,
    /// Prototype of a function type.
    signature: Option<Signature>,
    /// True when a nested list was cut at 1000 rows.
    truncated: Option<bool>,
    /// Every type made from C text, in order.
    #[schemars(length(max = 1000))]
    items: Option<Vec<DataTypeMade>>,
    /// How many types were made from C text.
    item_count: Option<u64>,
    /// Variables that the C text declares as well; they make no type.
    #[schemars(length(max = 1000))]
    variables: Option<Vec<String>>,
}

impl DataType {
    /// What a list shows of a type.
    fn brief(program: &Program, id: TypeId) -> Option<DataType> {
        let known = program.types.get(id)?;
        let composite = matches!(known.kind, TypeKind::Struct { .. } | TypeKind::Union { .. });
        // A struct without members still takes a byte.
        let least = u32::from(composite);
        Some(DataType {
            path: known.path(),
            name: known.name.to_string(),
            category_path: known.category.to_string(),
            kind: kind_word(&known.kind),
            length: known.length.map(|length| u64::from(length.max(least))),
            description: Some(known.description.to_string()),
            size: None,
            fields: None,
            values: None,
            base_type: None,
            signature: None,
            truncated: None,
            items: None,
            item_count: None,
            variables: None,
        })
    }

    /// A type with its members.
    fn whole(program: &Program, id: TypeId) -> Option<DataType> {
        let known = program.types.get(id)?;
        let mut row = DataType::brief(program, id)?;
        match &known.kind {
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                row.size = row.length;
                row.truncated = cut([Some(fields.len())]);
                let rows = fields.iter().enumerate().take(MAX_NESTED);
                row.fields = Some(rows.map(|(at, f)| CompositeField::of(program, at, f)).collect());
            }
            TypeKind::Enum { values } => {
                row.size = row.length;
                row.truncated = cut([Some(values.len())]);
                let rows = values.iter().take(MAX_NESTED).map(|(name, value, comment)| EnumValue {
                    name: name.to_string(),
                    value: *value,
                    comment: (!comment.is_empty()).then(|| comment.to_string()),
                });
                row.values = Some(rows.collect());
            }
            TypeKind::Typedef(base) => row.base_type = Some(DataTypeReference::of(program, *base)),
            TypeKind::Function(function) => {
                row.truncated = cut([Some(function.parameters.len())]);
                row.signature = Some(Signature::Parts(FunctionSignature::of(program, function)));
            }
            TypeKind::Builtin(_) | TypeKind::Pointer(_) | TypeKind::Array { .. } => {}
        }
        Some(row)
    }
}

impl Reply for DataType {
    const IDENTITY: &'static [&'static str] = &["path"];
    const NESTED: &'static [&'static str] = &["signature.parameters", "signature.return_type"];
}

/// A type made from C text.
#[derive(Debug, Serialize, JsonSchema)]
struct DataTypeMade {
    /// Its path.
    path: String,
    /// Its kind.
    kind: &'static str,
}

/// A member of a struct or union.
#[derive(Debug, Serialize, JsonSchema)]
struct CompositeField {
    /// Its place, from 0.
    ordinal: Option<u32>,
    /// Its name.
    name: Option<String>,
    /// Where it starts, in bytes.
    offset: Option<u32>,
    /// Its last byte.
    end_offset: Option<u32>,
    /// Kind of its type.
    kind: Option<&'static str>,
    /// Its length in bytes.
    length: Option<u32>,
    /// Its comment.
    comment: Option<String>,
    /// True when nothing is defined there.
    is_undefined: Option<bool>,
    /// Its type.
    data_type: Option<DataTypeReference>,
}

impl CompositeField {
    fn of(program: &Program, ordinal: usize, field: &Field) -> CompositeField {
        let last = field.offset.saturating_add(field.length.max(1) - 1);
        let kind = program.types.get(field.data_type).map(|known| kind_word(&known.kind));
        CompositeField {
            ordinal: u32::try_from(ordinal).ok(),
            name: Some(field.name.to_string()),
            offset: Some(field.offset),
            end_offset: Some(last),
            kind,
            length: Some(field.length),
            comment: (!field.comment.is_empty()).then(|| field.comment.to_string()),
            is_undefined: Some(
                field.name.is_empty() && program.types.is_undefined(field.data_type),
            ),
            data_type: Some(DataTypeReference::of(program, field.data_type)),
        }
    }
}

/// A value of an enum.
#[derive(Debug, Serialize, JsonSchema)]
struct EnumValue {
    /// Its name.
    name: String,
    /// The number it stands for.
    value: i64,
    /// Its comment.
    comment: Option<String>,
}
