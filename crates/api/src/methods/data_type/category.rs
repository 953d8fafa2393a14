//! Categories: the folders of data types.

use std::collections::BTreeMap;

use program::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{List, Page, Reply};
use crate::view::View;
use crate::walk::paginate;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "data_type_category.list",
            "List the categories directly inside a category, by path.",
            list,
        )
        .cost("Grows with the number of data types."),
    ]
}

fn list(view: &View<'_>, request: List<CategoryFilter>) -> Answer<Page<DataTypeCategory>> {
    let parent = request.filter.unwrap_or_default().path.unwrap_or_else(|| "/".to_owned());
    if !parent.starts_with('/') || (parent.len() > 1 && parent.ends_with('/')) {
        let message = "a category's path starts with a slash and does not end with one";
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/filter/path"));
    }
    let all = categories(&view.program);
    if !all.contains_key(&parent) {
        let shown: String = parent.chars().take(128).collect();
        let message = format!("there is no category {shown}");
        return Err(BridgeError::not_found("data_type_category", message).at("/filter/path"));
    }
    let children = all.keys().filter(|path| *path != "/" && outer(path) == parent);
    let rows = children.map(|path| (path.clone(), path)).collect();
    paginate(view, request.page.as_ref(), rows, |path| DataTypeCategory {
        path: path.clone(),
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        category_count: all.keys().filter(|inner| *inner != "/" && outer(inner) == path).count()
            as u64,
        data_type_count: all.get(path).copied().unwrap_or(0),
    })
}

/// Every category in use, those around it included, with the number of types in it.
fn categories(program: &Program) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::from([("/".to_owned(), 0)]);
    for (_, known) in program.types.iter().filter(|(_, known)| known.used) {
        *found.entry(known.category.to_string()).or_insert(0) += 1;
        let mut path = outer(&known.category);
        while path != "/" && !found.contains_key(path) {
            found.insert(path.to_owned(), 0);
            path = outer(path);
        }
    }
    found
}

/// The path of the category around one.
fn outer(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => &path[..at],
    }
}

/// Whose categories to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct CategoryFilter {
    /// The outer category; `/` when absent.
    path: Option<String>,
}

/// One category.
#[derive(Debug, Serialize, JsonSchema)]
struct DataTypeCategory {
    /// Its path.
    path: String,
    /// Its name.
    name: String,
    /// Categories directly inside.
    category_count: u64,
    /// Data types directly inside.
    data_type_count: u64,
}

impl Reply for DataTypeCategory {
    const IDENTITY: &'static [&'static str] = &["path"];
}
