//! Databases of Ghidra that nobody vouches for.

use ghidra_db::{Database, Packed};

/// Larger inputs say nothing that smaller ones do not.
const MOST_BYTES: usize = 1 << 20;

/// A packed file, or a bare buffer file, of any content. What it says is in it is read or refused,
/// and is no more than the bytes can justify.
pub fn database(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let content = match Packed::parse(bytes) {
        Ok(packed) => packed.content,
        Err(_) => bytes.to_vec(),
    };
    let size = content.len();
    let Ok(database) = Database::parse(content) else { return };
    for table in database.tables().iter().chain(database.indexes()) {
        // A table is read from buffers that each come once; its records are made of their bytes.
        let records = database.records(table).count();
        assert!(records <= size, "{records} records out of {size} bytes");
    }
}
