//! Code units: instructions, data and undefined bytes, and corrections of flow.

pub(super) mod flow;
pub(super) mod instruction;
pub(super) mod unit;
