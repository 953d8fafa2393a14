//! Categories: the folders of data types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{List, Page, Reply};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<List<CategoryFilter>, Page<DataTypeCategory>>(
            "data_type_category.list",
            "List the categories directly inside a category, by path.",
        )
        .cost("Grows with the number of data types."),
    ]
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
