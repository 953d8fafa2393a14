//! Name spaces: tags and ordinary names of a text, and the types of the program they stand for.

use program::TypeId;
use program::data_type::{Builtin, DataType, TypeKind};

use super::Parser;
use super::definition::Body;
use crate::CError;

impl<'a> Parser<'a> {
    /// The type of an ordinary name: of this text, else of the program, else one that headers
    /// usually define.
    pub(super) fn lookup(&mut self, name: &'a str) -> Result<Option<TypeId>, CError> {
        if let Some(known) = self.known_type(name) {
            return Ok(Some(known));
        }
        match name {
            "__builtin_va_list" | "va_list" | "__gnuc_va_list" => self.va_list().map(Some),
            _ => Ok(self.alias(name).map(|n| self.types.builtin(n))),
        }
    }

    fn alias(&self, name: &str) -> Option<&'static str> {
        let pointer = self.types.organization().pointer;
        Some(match name {
            "size_t" | "uintptr_t" => self.integer_name(pointer, 1, true),
            "ssize_t" | "intptr_t" | "ptrdiff_t" => self.integer_name(pointer, 1, false),
            "char16_t" => "wchar16",
            "char32_t" => "wchar32",
            _ => return None,
        })
    }

    /// Whether a word is the name of a type.
    pub(super) fn knows_type(&self, name: &str) -> bool {
        self.known_type(name).is_some()
            || ALIASES.contains(&name)
            || ["__builtin_va_list", "va_list", "__gnuc_va_list"].contains(&name)
    }

    fn known_type(&self, name: &str) -> Option<TypeId> {
        self.names
            .get(name)
            .or_else(|| self.tags.get(name))
            .copied()
            .or_else(|| self.earlier(name, |_| true))
    }

    /// A type that the program has, in the text's category first.
    fn earlier(&self, name: &str, fits: impl Fn(&TypeKind) -> bool) -> Option<TypeId> {
        let fits = |id: &TypeId| self.types.get(*id).is_some_and(|known| fits(&known.kind));
        let here = self.types.at_path(&self.path(name)).filter(fits);
        here.or_else(|| self.types.at_path(&format!("/{name}")).filter(fits))
            .or_else(|| self.types.named(name).find(fits))
    }

    fn path(&self, name: &str) -> String {
        if &*self.category == "/" {
            format!("/{name}")
        } else {
            format!("{}/{name}", self.category)
        }
    }

    pub(super) fn unknown_type(&self, name: &str) -> CError {
        let lower = name.to_lowercase();
        let near = self.types.iter().find(|(_, t)| t.name.to_lowercase() == lower);
        let hint = near.map(|(_, t)| format!("; did you mean {}?", t.name)).unwrap_or_default();
        let shown: String = name.chars().take(64).collect();
        self.error(format!("no type is called {shown}{hint}"))
    }

    /// The type of a tag that is only named.
    pub(super) fn find_tag(
        &mut self,
        kind: &str,
        tag: &'a str,
        offset: usize,
    ) -> Result<Option<TypeId>, CError> {
        if let Some(known) = self.tags.get(tag).copied() {
            let fits = self.types.get(known).is_some_and(|known| is_kind(kind, &known.kind));
            let message = format!("{tag} was declared before as something else than {kind}");
            return if fits { Ok(Some(known)) } else { Err(self.error_at(offset, message)) };
        }
        let known = self.earlier(tag, |known| is_kind(kind, known));
        Ok(known.inspect(|known| {
            self.tags.insert(tag, *known);
        }))
    }

    /// A type under a tag of which only the name is known.
    pub(super) fn stub(
        &mut self,
        kind: &str,
        tag: &'a str,
        offset: usize,
    ) -> Result<TypeId, CError> {
        let body = match kind {
            "union" => Body {
                kind: TypeKind::Union { fields: Vec::new() },
                length: None,
                alignment: 1,
                required: 1,
            },
            "enum" => {
                let length = self.types.organization().compiler.int;
                let alignment = self.types.organization().alignment(length);
                let kind = TypeKind::Enum { values: Vec::new() };
                Body { kind, length: Some(length), alignment, required: 1 }
            }
            _ => {
                let kind = TypeKind::Struct { fields: Vec::new(), packed: true };
                Body { kind, length: None, alignment: 1, required: 1 }
            }
        };
        let id = self.put(self.own(tag, body), "tags", offset)?;
        self.tags.insert(tag, id);
        if self.known_stubs.insert(id) {
            self.stubs.push((id, offset));
        }
        Ok(id)
    }

    /// Makes a tag known before its body is read; what it meant before is gone.
    pub(super) fn open_tag(
        &mut self,
        kind: &str,
        tag: &'a str,
        offset: usize,
    ) -> Result<(), CError> {
        if let Some(known) = self.tags.get(tag).copied() {
            let Some(own) = self.types.get(known).cloned() else { return Ok(()) };
            if !is_kind(kind, &own.kind) {
                let message = format!("{tag} was declared before as something else than {kind}");
                return Err(self.error_at(offset, message));
            }
            // The program's own is defined anew, one of this text only when it is the same.
            if self.defined.contains(&known) || own.length.is_none() && own.path() == self.path(tag)
            {
                return Ok(());
            }
        }
        self.stub(kind, tag, offset).map(|_| ())
    }

    /// Gives a tag its content.
    pub(super) fn define(
        &mut self,
        kind: &str,
        tag: &'a str,
        body: Body,
        offset: usize,
    ) -> Result<TypeId, CError> {
        let required = body.required;
        let own = self.own(tag, body);
        let known = self.tags.get(tag).copied();
        if let Some(known) = known {
            let Some(before) = self.types.get(known).cloned() else {
                return Err(self.error_at(offset, "this type is gone"));
            };
            if self.defined.contains(&known) {
                let same = before.kind == own.kind && before.length == own.length;
                let message = format!("{tag} was defined before with other content");
                return if same { Ok(known) } else { Err(self.error_at(offset, message)) };
            }
            if !is_kind(kind, &before.kind) {
                let message = format!("{tag} was declared before as something else than {kind}");
                return Err(self.error_at(offset, message));
            }
            if before.category == own.category || before.category.ends_with("/tags") {
                let own = DataType { category: before.category.clone(), ..own };
                self.types.replace(known, own);
                self.require(known, required);
                return Ok(self.completed(known, offset));
            }
        }
        let id = self.put(own, "tags", offset)?;
        self.tags.insert(tag, id);
        self.require(id, required);
        Ok(self.completed(id, offset))
    }

    fn completed(&mut self, id: TypeId, offset: usize) -> TypeId {
        self.defined.insert(id);
        self.made.push((id, offset));
        self.pass_size_on(id);
        id
    }

    /// Gives the size of a type to the typedefs that wait for it.
    fn pass_size_on(&mut self, id: TypeId) {
        let mut open = vec![id];
        while let Some(inner) = open.pop() {
            let Some(known) = self.types.get(inner).cloned() else { continue };
            for outer in self.waiting.remove(&inner).unwrap_or_default() {
                let Some(old) = self.types.get(outer).cloned() else { continue };
                let alignment = old.alignment.max(known.alignment);
                let new = DataType { length: known.length, alignment, ..DataType::clone(&old) };
                self.types.replace(outer, new);
                open.push(outer);
            }
        }
    }

    /// `typedef` of a name to a type.
    pub(super) fn typedef(
        &mut self,
        name: &'a str,
        target: TypeId,
        aligned: u32,
        offset: usize,
    ) -> Result<(), CError> {
        let id = self.typedef_of(name, target, aligned, offset)?;
        self.names.insert(name, id);
        Ok(())
    }

    fn typedef_of(
        &mut self,
        name: &'a str,
        target: TypeId,
        aligned: u32,
        offset: usize,
    ) -> Result<TypeId, CError> {
        let known = self.types.get(target).cloned();
        if let Some(before) = self.names.get(name).copied() {
            return self.again(name, before, target, offset);
        }
        // What headers call as a built-in type is one.
        if aligned == 0
            && let Some(builtin) = self.as_builtin(name, target)
        {
            return Ok(builtin);
        }
        // `typedef struct {...} Name` names the structure itself.
        if let Some(nameless) =
            known.as_ref().filter(|_| aligned == 0 && self.nameless.remove(&target))
        {
            let own = DataType { name: name.into(), ..DataType::clone(nameless) };
            let taken = self.types.at_path(&own.path()).filter(|id| self.told_here(*id));
            if taken.is_none() && self.types.replace(target, own.clone()) {
                self.defined.insert(target);
                return Ok(target);
            }
            // Defined again: what was made of it before keeps it.
            if !self.is_derived_from(target) {
                let id = self.put(own, "typedefs", offset)?;
                self.types.remove(target);
                self.made.retain(|(made, _)| *made != target);
                return Ok(self.completed(id, offset));
            }
        }
        // `typedef struct S S` adds nothing.
        let same = |t: &std::sync::Arc<DataType>| &*t.name == name && t.category == self.category;
        if aligned == 0 && known.as_ref().is_some_and(same) {
            return Ok(target);
        }
        let (length, alignment) = known.as_ref().map_or((None, 1), |t| (t.length, t.alignment));
        let alignment = if aligned > 0 { aligned } else { alignment };
        let body = Body { kind: TypeKind::Typedef(target), length, alignment, required: 1 };
        let id = self.put(self.own(name, body), "typedefs", offset)?;
        if length.is_none() {
            self.waiting.entry(target).or_default().push(id);
        }
        self.made.push((id, offset));
        Ok(id)
    }

    /// A name that this text gave to a type before.
    fn again(
        &mut self,
        name: &str,
        before: TypeId,
        target: TypeId,
        offset: usize,
    ) -> Result<TypeId, CError> {
        let shape = |id| self.types.get(id).map(|known| (known.length, known.kind.clone()));
        let (a, b) = (self.types.resolve(before), self.types.resolve(target));
        let same = a == b || shape(a) == shape(b);
        if same {
            // A body that was read again is not needed twice.
            if self.nameless.remove(&target) && !self.is_derived_from(target) {
                self.types.remove(target);
                self.made.retain(|(made, _)| *made != target);
            }
            return Ok(before);
        }
        let message = format!("{name} was declared before as another type");
        Err(self.error_at(offset, message))
    }

    /// The built-in type of a name, when the type it is given to is one like it.
    fn as_builtin(&self, name: &str, target: TypeId) -> Option<TypeId> {
        let known = self.types.at_path(&format!("/{name}"))?;
        let own = match self.types.get(known)?.kind {
            TypeKind::Builtin(builtin) => builtin,
            _ => return None,
        };
        use Builtin::{Bool, Char, Signed, Unsigned, WideChar};
        let alike = match (own, self.types.as_builtin(target)?) {
            (a, b) if a == b => true,
            (Char | Signed, Char | Signed) => true,
            (Bool, Unsigned) | (Unsigned, Bool) => true,
            (WideChar, Signed | Unsigned) => true,
            _ => false,
        };
        (alike && self.types.length(known) == self.types.length(target)).then_some(known)
    }

    /// Whether this text made a type.
    fn told_here(&self, id: TypeId) -> bool {
        self.told.contains(&id)
            || self.defined.contains(&id)
            || self.known_stubs.contains(&id)
            || self.made.iter().any(|(made, _)| *made == id)
    }

    /// Whether some other type was made of this one. O(types).
    fn is_derived_from(&self, id: TypeId) -> bool {
        self.types.iter().any(|(other, known)| {
            let mut found = false;
            known.kind.each_part(|part| found |= part == id);
            found && other != id
        })
    }

    /// Adds a type, or replaces the one at its path. Where this text put a type of another name
    /// space there, it goes into the category `aside`. Built-in types are not replaced.
    fn put(
        &mut self,
        mut data_type: DataType,
        aside: &str,
        offset: usize,
    ) -> Result<TypeId, CError> {
        if let Some(known) = self.types.at_path(&data_type.path())
            && self.told_here(known)
        {
            let path = self.path(aside);
            data_type.category = path.into();
        }
        let Some(known) = self.types.at_path(&data_type.path()) else {
            return Ok(self.types.add(data_type));
        };
        if self.types.get(known).is_some_and(|t| matches!(t.kind, TypeKind::Builtin(_))) {
            let message = format!("{} is a built-in type; choose another name", data_type.name);
            return Err(self.error_at(offset, message));
        }
        self.types.replace(known, data_type);
        Ok(known)
    }
}

fn is_kind(kind: &str, known: &TypeKind) -> bool {
    match known {
        TypeKind::Struct { .. } => kind == "struct",
        TypeKind::Union { .. } => kind == "union",
        TypeKind::Enum { .. } => kind == "enum",
        _ => false,
    }
}

/// Names of the standard headers for built-in types.
const ALIASES: [&str; 7] =
    ["size_t", "uintptr_t", "ssize_t", "intptr_t", "ptrdiff_t", "char16_t", "char32_t"];
