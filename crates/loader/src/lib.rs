//! From a file's bytes to a loaded program: formats, blocks, symbols, relocations.
