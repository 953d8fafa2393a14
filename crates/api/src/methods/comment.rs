//! Comments on addresses.

use std::sync::Arc;

use program::{Address, CommentKind, Program, SpaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::name;
use crate::shapes::{
    AddressRange, Create, Delete, Deleted, Get, Patch, Reply, Scan, ScanPage, ScanRequest,
};
use crate::view::{Edit, View};
use crate::walk::{OpenEnd, Walk, position};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read("comment.get", "Read one comment by address and type.", get),
        Method::read("comment.list", "Walk comments in address order.", list)
            .cost("Grows with the comments walked over, matching or not."),
        Method::write("comment.create", "Add a comment where none of its type is.", create),
        Method::write("comment.patch", "Replace the text of a comment.", patch)
            .destructive()
            .idempotent(),
        Method::write(
            "comment.upsert",
            "Add a comment, or replace the text of the one that is there.",
            upsert,
        )
        .destructive()
        .idempotent(),
        Method::write("comment.delete", "Remove one comment.", delete).destructive().idempotent(),
    ]
}

fn get(view: &View<'_>, request: Get<CommentSelector>) -> Answer<Comment> {
    let selector = &request.selector;
    let address = view.address(&selector.address, "/selector/address")?;
    let text = view.program.comments.get(&(address, selector.r#type.kind()));
    let text = text.ok_or_else(|| no_comment(&view.program, address, selector.r#type))?;
    Ok(Comment::of(&view.program, address, selector.r#type.kind(), text))
}

fn list(view: &View<'_>, request: Scan<CommentFilter>) -> Answer<ScanPage<Comment>> {
    let filter = request.filter.unwrap_or_default();
    let scan = filter.with_start(request.scan)?;
    let walk = Walk::new(view, request.page.as_ref(), scan.as_ref(), OpenEnd::OfSpace)?;
    let ((space, offset, within), end) = walk.positions();
    let from = Address::new(SpaceId(space), offset);
    let comments = view.program.comments.range((from, CommentKind::ALL[0])..);
    let candidates = comments
        .map(|((address, kind), text)| (position(*address, *kind as u64), (*address, *kind, text)))
        .skip_while(|(position, _)| *position < (space, offset, within))
        .take_while(|(_, (address, ..))| *address <= end);
    let part = name::Part::new(filter.text.as_deref(), false);
    walk.run(view, candidates, |(address, kind, text)| {
        let fits = filter.r#type.is_none_or(|wanted| wanted.kind() == kind) && part.is_in(text);
        Ok(fits.then(|| Comment::of(&view.program, address, kind, text)))
    })
}

fn create(edit: &mut Edit<'_>, request: Create<CommentDefinition>) -> Answer<Comment> {
    let resource = &request.resource;
    let address = edit.address(&resource.address, "/resource/address")?;
    if edit.program.comments.contains_key(&(address, resource.r#type.kind())) {
        let message = format!(
            "a {} comment is at {} already; patch or upsert changes it",
            resource.r#type.kind().name(),
            edit.print(address)
        );
        return Err(BridgeError::new(ErrorCode::CommentExists, message).at("/resource"));
    }
    Ok(put(edit, address, resource.r#type.kind(), &resource.text))
}

fn patch(edit: &mut Edit<'_>, request: Patch<CommentSelector, CommentPatch>) -> Answer<Comment> {
    let selector = &request.selector;
    let address = edit.address(&selector.address, "/selector/address")?;
    if !edit.program.comments.contains_key(&(address, selector.r#type.kind())) {
        return Err(no_comment(edit.program, address, selector.r#type));
    }
    Ok(put(edit, address, selector.r#type.kind(), &request.patch.text))
}

fn upsert(edit: &mut Edit<'_>, request: Create<CommentDefinition>) -> Answer<Comment> {
    let resource = &request.resource;
    let address = edit.address(&resource.address, "/resource/address")?;
    Ok(put(edit, address, resource.r#type.kind(), &resource.text))
}

fn delete(edit: &mut Edit<'_>, request: Delete<CommentSelector>) -> Answer<Deleted> {
    let selector = &request.selector;
    let address = edit.address(&selector.address, "/selector/address")?;
    let removed = edit.program.comments.remove(&(address, selector.r#type.kind()));
    removed.ok_or_else(|| no_comment(edit.program, address, selector.r#type))?;
    Ok(Deleted { deleted: true })
}

/// Stores a text; NUL characters have no place in comments.
fn put(edit: &mut Edit<'_>, address: Address, kind: CommentKind, text: &str) -> Comment {
    let text: Arc<str> = text.replace('\0', "").into();
    edit.program.comments.insert((address, kind), Arc::clone(&text));
    Comment::of(edit.program, address, kind, &text)
}

fn no_comment(program: &Program, address: Address, kind: CommentType) -> BridgeError {
    let message =
        format!("there is no {} comment at {}", kind.kind().name(), program.spaces.print(address));
    BridgeError::not_found("comment", message).at("/selector")
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

impl CommentType {
    fn kind(self) -> CommentKind {
        match self {
            CommentType::Eol => CommentKind::Eol,
            CommentType::Plate => CommentKind::Plate,
            CommentType::Post => CommentKind::Post,
            CommentType::Pre => CommentKind::Pre,
            CommentType::Repeatable => CommentKind::Repeatable,
        }
    }
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
    r#type: &'static str,
    /// Its text.
    text: String,
}

impl Comment {
    fn of(program: &Program, address: Address, kind: CommentKind, text: &str) -> Comment {
        Comment {
            address: program.spaces.print(address).to_string(),
            r#type: kind.name(),
            text: text.to_owned(),
        }
    }
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

impl CommentFilter {
    /// The scan with `filter.address` as its start, unless both say different things.
    fn with_start(&self, scan: Option<ScanRequest>) -> Answer<Option<ScanRequest>> {
        let Some(address) = &self.address else { return Ok(scan) };
        let mut scan = scan.unwrap_or_default();
        let range = scan.range.get_or_insert_with(AddressRange::default);
        if range.start.as_ref().is_some_and(|start| start != address) {
            let message = "filter.address and scan.range.start are two spellings of one bound; \
                           give one of them, or the same text in both";
            return Err(
                BridgeError::new(ErrorCode::ConflictingRange, message).at("/scan/range/start")
            );
        }
        range.start = Some(address.clone());
        Ok(Some(scan))
    }
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
