//! Where variables are kept, as clients write it.

use engine::Session;
use program::{Program, SpaceId, Storage, StoragePiece, TypeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;

/// Most pieces of one variable.
const MAX_PIECES: usize = 16;

/// Where a value is kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum VariableStorage {
    /// As text: parts of the form `space:offset:size`, or `Stack[offset]:size`.
    Serialization {
        /// The parts, joined by commas.
        #[schemars(length(min = 1))]
        serialization: String,
    },
    /// One register.
    Register {
        /// Its name.
        #[schemars(length(min = 1))]
        register: String,
    },
}

impl VariableStorage {
    /// Storage as it is answered: always as text.
    pub(crate) fn of(program: &Program, storage: &Storage) -> VariableStorage {
        VariableStorage::Serialization { serialization: program.storage_text(storage) }
    }

    /// The storage meant, which must hold a value of the type; `pointer` says where it stands.
    pub(super) fn resolve(
        &self,
        program: &Program,
        session: &Session,
        data_type: TypeId,
        pointer: &str,
    ) -> Answer<Storage> {
        let (storage, below) = match self {
            VariableStorage::Register { register } => {
                (self::register(session, register), "register")
            }
            VariableStorage::Serialization { serialization } => {
                (pieces(program, session, serialization), "serialization")
            }
        };
        let refused = |message: String| {
            BridgeError::new(ErrorCode::InvalidRequest, message).at(&format!("{pointer}/{below}"))
        };
        let storage = storage.map_err(refused)?;
        fits(program, &storage, data_type).map_err(refused)?;
        Ok(storage)
    }
}

fn register(session: &Session, name: &str) -> Result<Storage, String> {
    let language = session.language();
    let name = name.trim();
    let found = language
        .register(name)
        .or_else(|| language.register(&name.to_uppercase()))
        .or_else(|| language.register(&name.to_lowercase()));
    match found {
        Some(register) if !language.has_context(name) => {
            let place = program::Address::new(SpaceId::REGISTER, register.offset);
            Ok(Storage::at(place, register.size))
        }
        Some(_) => Err(format!("{} steers decoding and holds no values", shown(name))),
        None => Err(format!("this processor has no register {}", shown(name))),
    }
}

fn pieces(program: &Program, session: &Session, text: &str) -> Result<Storage, String> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > MAX_PIECES {
        return Err(format!("storage has at most {MAX_PIECES} parts, not {}", parts.len()));
    }
    let parts = parts.into_iter().map(|part| piece(program, session, part.trim()));
    Ok(Storage::Pieces(parts.collect::<Result<_, _>>()?))
}

fn piece(program: &Program, session: &Session, text: &str) -> Result<StoragePiece, String> {
    let wrong = || {
        format!(
            "{} is no storage; write space:offset:size or Stack[offset]:size, such as \
             register:00000038:4 or Stack[-0x14]:4",
            shown(text)
        )
    };
    let (place, size) = text.rsplit_once(':').ok_or_else(wrong)?;
    let size: u32 = size.trim().parse().ok().filter(|size| *size > 0).ok_or_else(wrong)?;
    let address = program.parse_address(place).map_err(|_| wrong())?;
    let known = match address.space {
        SpaceId::REGISTER => session.language().register_name(address.offset, size).is_some(),
        SpaceId::STACK => true,
        SpaceId::RAM => program.memory.contains(address),
        _ => false,
    };
    if known {
        Ok(StoragePiece { address, size })
    } else if address.space == SpaceId::REGISTER {
        Err(format!("no register has {size} bytes at {}", shown(place)))
    } else {
        Err(format!("{} is neither a register, nor on the stack, nor in memory", shown(place)))
    }
}

/// Whether storage holds a value of a type, and if not, why. Floating point numbers may be kept
/// in wider registers.
pub(super) fn fits(program: &Program, storage: &Storage, data_type: TypeId) -> Result<(), String> {
    use program::data_type::Builtin;
    let size: u32 = storage.pieces().iter().fold(0, |sum, piece| sum.saturating_add(piece.size));
    let length = program.types.length(data_type).unwrap_or(0);
    let float = program.types.as_builtin(data_type) == Some(Builtin::Float);
    let name = program.types.name(data_type);
    if length == 0 {
        return Err(format!("a value of type {name} is kept nowhere"));
    }
    if size == length || (float && size > length) {
        return Ok(());
    }
    Err(format!("{name} takes {length} bytes, but the storage has {size}"))
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}
