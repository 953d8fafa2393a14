//! The program database: plain data about one binary, without I/O.
