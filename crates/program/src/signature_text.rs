//! Prototypes and storage as text.

use crate::Program;
use crate::address::{Address, SpaceId};
use crate::function::{Function, Parameter, Storage};
use crate::symbol::SourceType;
use std::sync::Arc;

impl Program {
    /// The function that says how `function` is called: itself, or what it thunks.
    pub fn calling_function<'a>(&'a self, function: &'a Arc<Function>) -> &'a Arc<Function> {
        self.thunked(function.entry).unwrap_or(function)
    }

    /// A function's prototype: `[noreturn ]type [convention ]name(type name, ...)`.
    /// Nothing stands between the parentheses while nobody said what it takes.
    pub fn signature_text(&self, function: &Arc<Function>) -> String {
        let callee = self.calling_function(function);
        let signature = &callee.signature;
        let mut text = String::new();
        if callee.no_return {
            text.push_str("noreturn ");
        }
        text.push_str(self.types.name(signature.return_type));
        text.push(' ');
        if let Some(convention) = &signature.convention {
            text.push_str(convention);
            text.push(' ');
        }
        text.push_str(&self.function_name(function.entry));
        text.push('(');
        let mut parameters: Vec<String> = signature
            .parameters
            .iter()
            .enumerate()
            .map(|(at, p)| {
                let name = parameter_name(&signature.parameters, at);
                format!("{} {name}", self.types.name(p.data_type))
            })
            .collect();
        if signature.varargs {
            parameters.push("...".to_owned());
        } else if parameters.is_empty() && signature.source != SourceType::Default {
            parameters.push("void".to_owned());
        }
        text.push_str(&parameters.join(", "));
        text.push(')');
        text
    }

    /// Storage as text: `space:offset:size` parts, `Stack[offset]:size`, or a special word.
    pub fn storage_text(&self, storage: &Storage) -> String {
        match storage {
            Storage::Unassigned => "<UNASSIGNED>".to_owned(),
            Storage::Void => "<VOID>".to_owned(),
            Storage::Pieces(pieces) => {
                let parts = pieces
                    .iter()
                    .map(|piece| format!("{}:{}", self.spaces.print(piece.address), piece.size));
                parts.collect::<Vec<_>>().join(",")
            }
        }
    }

    /// The whole name of a function's namespace, outermost first; `Global` at the top.
    pub fn function_namespace_text(&self, entry: Address) -> String {
        let path = self.symbols.path(self.function_namespace(entry));
        if path.is_empty() {
            let external = entry.space == SpaceId::EXTERNAL;
            return if external { "<EXTERNAL>".to_owned() } else { "Global".to_owned() };
        }
        path.join("::")
    }

    /// The name of the namespace a symbol is in, without those around it.
    pub fn namespace_name(&self, parent: crate::symbol::SymbolId) -> String {
        match self.symbols.get(parent) {
            Some(namespace) => namespace.name.to_string(),
            None => "Global".to_owned(),
        }
    }
}

/// The name of the parameter at a place, or the one it bears while it has none: those that the
/// calling convention adds are not counted.
pub fn parameter_name(parameters: &[Parameter], ordinal: usize) -> String {
    match parameters.get(ordinal) {
        Some(parameter) if !parameter.name.is_empty() => parameter.name.to_string(),
        _ => {
            let before = parameters.iter().take(ordinal).filter(|before| !before.automatic);
            format!("param_{}", before.count() + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AddressSet, DataOrganization, ProgramInfo, StoragePiece};

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        p.add_function(Address::ram(0x1000), AddressSet::new());
        p
    }

    fn parameter(p: &mut Program, name: &str, type_name: &str) -> Parameter {
        Parameter {
            name: name.into(),
            data_type: p.types.builtin(type_name),
            storage: Storage::Unassigned,
            source: SourceType::UserDefined,
            automatic: false,
            id: 1,
        }
    }

    #[test]
    fn parameters_without_names_are_counted_without_those_of_the_convention() {
        let mut p = program();
        let this = Parameter { automatic: true, ..parameter(&mut p, "this", "int") };
        let all = [this, parameter(&mut p, "", "int"), parameter(&mut p, "", "int")];
        let names: Vec<String> = (0..all.len()).map(|at| parameter_name(&all, at)).collect();
        assert_eq!(names, ["this", "param_1", "param_2"]);
    }

    #[test]
    fn prototypes_say_what_is_known() {
        let mut p = program();
        let at = Address::ram(0x1000);
        let text = |p: &Program| p.signature_text(p.functions.at(at).expect("was added"));
        assert_eq!(text(&p), "undefined FUN_00001000()");
        let (int, name) = (parameter(&mut p, "", "int"), parameter(&mut p, "size", "ulong"));
        p.functions.edit(at, |f| {
            f.signature.source = SourceType::UserDefined;
            f.signature.convention = Some("__stdcall".into());
            f.no_return = true;
        });
        assert_eq!(text(&p), "noreturn undefined __stdcall FUN_00001000(void)");
        p.functions.edit(at, |f| {
            f.signature.parameters = vec![int, name];
            f.signature.varargs = true;
            f.no_return = false;
        });
        assert_eq!(text(&p), "undefined __stdcall FUN_00001000(int param_1, ulong size, ...)");
    }

    #[test]
    fn storage_names_every_piece() {
        let p = program();
        let register = |offset| Address::new(SpaceId::REGISTER, offset);
        let pieces = vec![
            StoragePiece { address: register(0x10), size: 8 },
            StoragePiece { address: register(0), size: 8 },
        ];
        assert_eq!(
            p.storage_text(&Storage::Pieces(pieces)),
            "register:00000010:8,register:00000000:8"
        );
        assert_eq!(p.storage_text(&Storage::at(Address::stack(-0x14), 4)), "Stack[-0x14]:4");
        assert_eq!(p.storage_text(&Storage::Void), "<VOID>");
    }
}
