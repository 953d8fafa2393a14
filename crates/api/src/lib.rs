//! The contract: every method as a typed row, its schemas, checks and documents.
