//! The adapter over the decompiler engine crate: decoding, listing text, p-code, C text.
