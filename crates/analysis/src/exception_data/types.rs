//! The data types of descriptions and maps, under the names that Ghidra gives them.

use crate::rtti::image::Image;
use crate::rtti::types::{descriptor, simple};
use program::data_type::{Field, FunctionType};
use program::{DataTypes, TypeId, TypeKind};

/// Which map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Map {
    /// What destroys objects, by state.
    Unwind,
    /// Blocks with handlers.
    Tries,
    /// Handlers of a block.
    Handlers,
    /// States, by place in the code.
    Places,
    /// Exceptions that a function lets out.
    Allowed,
}

/// A member of four bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    id: TypeId,
    name: &'static str,
    /// Whether it leads somewhere.
    pub(super) refers: bool,
}

/// A structure and its members.
#[derive(Debug, Clone)]
pub(super) struct Described {
    pub(super) id: TypeId,
    pub(super) members: Vec<Member>,
}

/// The types of one program.
pub(super) struct Types {
    relative: bool,
    /// By version, in the order in which they were met.
    functions: Vec<(usize, Described)>,
    unwind: Described,
    tries: Described,
    handlers: Described,
    places: Described,
    allowed: Described,
}

impl Types {
    pub(super) fn define(types: &mut DataTypes, image: &Image) -> Types {
        let relative = image.is_relative();
        let (int, uint) = (types.builtin("int"), types.builtin("uint"));
        let state = alias(types, "/", "__ehstate_t", int);
        let plain = |id, name| Member { id, name, refers: false };
        let handler = {
            let described = descriptor(types, image.pointer);
            let void = types.builtin("void");
            let displacement = match relative {
                true => int,
                false => alias(types, "/crtdefs.h", "ptrdiff_t", int),
            };
            let mut members = vec![
                plain(uint, "adjectives"),
                place(types, relative, described, ["dispType", "pType"]),
                plain(displacement, "dispCatchObj"),
                place(types, relative, void, ["dispOfHandler", "addressOfHandler"]),
            ];
            if relative {
                members.push(plain(types.builtin("dword"), "dispFrame"));
            }
            structure(types, "HandlerType", members)
        };
        let tries = vec![
            plain(state, "tryLow"),
            plain(state, "tryHigh"),
            plain(state, "catchHigh"),
            plain(int, "nCatches"),
            place(types, relative, handler.id, ["dispHandlerArray", "pHandlerArray"]),
        ];
        let action = action(types);
        let unwind =
            vec![plain(state, "toState"), place(types, relative, action, ["action", "action"])];
        let ip = match relative {
            true => Member { id: types.builtin("ImageBaseOffset32"), name: "Ip", refers: true },
            false => {
                let long = types.builtin("ulong");
                let dword = alias(types, "/WinDef.h", "DWORD", long);
                plain(alias(types, "/wtypes.h", "ULONG", dword), "Ip")
            }
        };
        let allowed = vec![
            plain(int, "nCount"),
            place(types, relative, handler.id, ["dispTypeArray", "pTypeArray"]),
        ];
        Types {
            relative,
            functions: Vec::new(),
            unwind: structure(types, "UnwindMapEntry", unwind),
            tries: structure(types, "TryBlockMapEntry", tries),
            handlers: handler,
            places: structure(types, "IPToStateMapEntry", vec![ip, plain(state, "state")]),
            allowed: structure(types, "ESTypeList", allowed),
        }
    }

    /// The description of a function, of one of three versions.
    pub(super) fn function(&mut self, types: &mut DataTypes, version: usize) -> Described {
        if let Some((_, known)) = self.functions.iter().find(|(of, _)| *of == version) {
            return known.clone();
        }
        let (int, uint) = (types.builtin("int"), types.builtin("uint"));
        let plain = |id, name| Member { id, name, refers: false };
        let state = alias(types, "/ehdata.h", "__ehstate_t", int);
        let void = types.builtin("void");
        let relative = self.relative;
        let mut members = vec![
            plain(uint, "magicNumber_and_bbtFlags"),
            plain(state, "maxState"),
            place(types, relative, self.unwind.id, ["dispUnwindMap", "pUnwindMap"]),
            plain(uint, "nTryBlocks"),
            place(types, relative, self.tries.id, ["dispTryBlockMap", "pTryBlockMap"]),
            plain(uint, "nIPMapEntries"),
            place(types, relative, void, ["dispIPToStateMap", "pIPToStateMap"]),
        ];
        if relative {
            members.push(plain(int, "dispUnwindHelp"));
        }
        if version > 0 {
            let names = ["dispESTypeList", "pESTypeList"];
            members.push(place(types, relative, self.allowed.id, names));
        }
        if version > 1 {
            members.push(plain(int, "EHFlags"));
        }
        // One name for several structures.
        let name = match self.functions.len() {
            0 => "FuncInfo".to_owned(),
            1 => "FuncInfo.conflict".to_owned(),
            more => format!("FuncInfo.conflict{}", more - 1),
        };
        let described = structure(types, &name, members);
        self.functions.push((version, described.clone()));
        described
    }

    /// The entries of a map.
    pub(super) fn of(&self, map: Map) -> (TypeId, Vec<Member>) {
        let Described { id, members } = self.described(map);
        (*id, members.clone())
    }

    /// Bytes of an entry of a map.
    pub(super) fn length(&self, map: Map) -> u32 {
        4 * self.described(map).members.len() as u32
    }

    fn described(&self, map: Map) -> &Described {
        match map {
            Map::Unwind => &self.unwind,
            Map::Tries => &self.tries,
            Map::Handlers => &self.handlers,
            Map::Places => &self.places,
            Map::Allowed => &self.allowed,
        }
    }
}

/// A member that leads somewhere: by distance from the image base, or by address.
fn place(
    types: &mut DataTypes,
    relative: bool,
    target: TypeId,
    [distance, address]: [&'static str; 2],
) -> Member {
    match relative {
        true => Member { id: types.builtin("ImageBaseOffset32"), name: distance, refers: true },
        false => Member { id: types.pointer_to(target), name: address, refers: true },
    }
}

/// A function that destroys something.
fn action(types: &mut DataTypes) -> TypeId {
    let kind = TypeKind::Function(FunctionType {
        return_type: types.builtin("void"),
        parameters: Vec::new(),
        convention: None,
        varargs: false,
        no_return: false,
    });
    let mut action = simple("action", 1, kind);
    action.category = "/ehdata.h/functions".into();
    types.add(action)
}

fn alias(types: &mut DataTypes, category: &str, name: &str, of: TypeId) -> TypeId {
    let mut alias = simple(name, 4, TypeKind::Typedef(of));
    alias.category = category.into();
    types.add(alias)
}

/// A structure of members of four bytes under two names.
fn structure(types: &mut DataTypes, name: &str, members: Vec<Member>) -> Described {
    let fields = members.iter().zip((0..).step_by(4)).map(|(member, offset)| Field {
        offset,
        data_type: member.id,
        length: 4,
        name: member.name.into(),
        comment: "".into(),
        bits: None,
    });
    let kind = TypeKind::Struct { fields: fields.collect(), packed: true };
    let length = 4 * members.len() as u32;
    let inner = types.add(simple(&format!("_s_{name}"), length, kind));
    Described { id: types.add(simple(name, length, TypeKind::Typedef(inner))), members }
}
