//! What tests share: sample programs, a running bridge on a free port, a schema-checking client.
