//! Comments on addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{Create, Delete, Deleted, Get, Patch, Reply, Scan, ScanPage};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<Get<CommentSelector>, Comment>(
            "comment.get",
            "Read one comment by address and type.",
        ),
        Method::pending_read::<Scan<CommentFilter>, ScanPage<Comment>>(
            "comment.list",
            "Walk comments in address order.",
        )
        .cost("Grows with the comments walked over, matching or not."),
        Method::pending_write::<Create<CommentDefinition>, Comment>(
            "comment.create",
            "Add a comment where none of its type is.",
        ),
        Method::pending_write::<Patch<CommentSelector, CommentPatch>, Comment>(
            "comment.patch",
            "Replace the text of a comment.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Create<CommentDefinition>, Comment>(
            "comment.upsert",
            "Add a comment, or replace the text of the one that is there.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Delete<CommentSelector>, Deleted>(
            "comment.delete",
            "Remove one comment.",
        )
        .destructive()
        .idempotent(),
    ]
}

/// Where a comment is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CommentType {
    Eol,
    Plate,
    Post,
    Pre,
    Repeatable,
}

/// Chooses a comment.
#[derive(Debug, Deserialize, JsonSchema)]
struct CommentSelector {
    /// Its address.
    #[schemars(length(min = 1))]
    address: String,
    /// Its type.
    r#type: CommentType,
}

/// One comment.
#[derive(Debug, Serialize, JsonSchema)]
struct Comment {
    /// Its address.
    address: String,
    /// Its type.
    #[schemars(with = "String")]
    r#type: CommentType,
    /// Its text.
    text: String,
}

impl Reply for Comment {
    const IDENTITY: &'static [&'static str] = &["address", "type"];
}

/// Which comments to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct CommentFilter {
    /// Where to start; another spelling of `scan.range.start`.
    address: Option<String>,
    /// Only this type.
    r#type: Option<CommentType>,
    /// Part of the text, in any case.
    text: Option<String>,
}

/// A comment to add.
#[derive(Debug, Deserialize, JsonSchema)]
struct CommentDefinition {
    /// Its address.
    #[schemars(length(min = 1))]
    address: String,
    /// Its type.
    r#type: CommentType,
    /// Its text.
    #[schemars(length(min = 1))]
    text: String,
}

/// A change of a comment.
#[derive(Debug, Deserialize, JsonSchema)]
struct CommentPatch {
    /// The new text.
    #[schemars(length(min = 1))]
    text: String,
}
