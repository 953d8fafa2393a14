//! Trials: one function for each entrance that strangers' bytes come through. It
//! takes any bytes, and panics when something does not hold. Fuzz targets and a
//! test with random bytes run the same functions.

mod calls;
mod databases;
mod messages;
mod programs;

pub use calls::{addresses, comments, cursors};
pub use databases::database;
pub use messages::{frames, json_rpc, mcp_request};
pub use programs::{
    archive, code, coff, debug, debug_files, elf, files, mach_o, names, pdb, pe, records,
};

/// Takes any bytes, and panics when something does not hold.
pub type Trial = fn(&[u8]);

/// Every trial with its name.
pub const ALL: &[(&str, Trial)] = &[
    ("json_rpc", json_rpc),
    ("mcp_request", mcp_request),
    ("frames", frames),
    ("cursors", cursors),
    ("addresses", addresses),
    ("comments", comments),
    ("files", files),
    ("elf", elf),
    ("pe", pe),
    ("mach_o", mach_o),
    ("records", records),
    ("archive", archive),
    ("coff", coff),
    ("pdb", pdb),
    ("names", names),
    ("code", code),
    ("debug", debug),
    ("debug_files", debug_files),
    ("database", database),
];
