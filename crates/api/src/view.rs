//! What a reading handler sees: the program at one instant and the session's facts.

use crate::bridge::Bridge;
use crate::context::CallContext;
use crate::cursor::Query;
use crate::projection::Selection;

/// An unchangeable view, the same for the whole call.
pub(crate) struct View<'a> {
    /// The session's facts.
    pub bridge: &'a Bridge,
    /// What came with the call.
    pub cx: &'a CallContext,
    /// What cursors of this call are bound to.
    pub query: Query<'a>,
    /// The members that will be answered; all when absent.
    pub selection: Option<&'a Selection>,
}
