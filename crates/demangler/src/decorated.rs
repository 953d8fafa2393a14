//! Names of C functions as compilers for Windows decorate them: what stands around a name tells
//! how the function is called.

/// A name with its decoration off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plain<'a> {
    /// The name as a programmer wrote it.
    pub name: &'a str,
    /// How the function is called.
    pub convention: &'static str,
    /// Bytes of its parameters, where the decoration tells.
    bytes: Option<u32>,
}

/// Takes the decoration off the name of a function of a program with so many bits to an address;
/// `None` for a name without. Only one form is known where addresses have not 32 bits. The width is
/// all that Ghidra looks at: ARM's compilers add no underscore, but one that a programmer wrote goes.
pub fn plain(name: &str, bits: u32) -> Option<Plain<'_>> {
    let reserved = matches!(name.as_bytes(), [b'_', b'_' | b'A'..=b'Z', ..]);
    if reserved || name.starts_with(['?', '.']) {
        return None;
    }
    let (first, rest) = match name.as_bytes().first()? {
        b'@' => ("__fastcall", name.strip_prefix('@')?),
        b'_' => ("__cdecl", name.strip_prefix('_')?),
        _ => ("__vectorcall", name),
    };
    let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
    let (name, behind) = (rest.get(..end)?, rest.get(end..)?);
    let (convention, bytes) = match (first, behind.strip_prefix('@')) {
        ("__cdecl", None) if behind.is_empty() => (first, None),
        ("__cdecl", Some(bytes)) => ("__stdcall", Some(bytes)),
        ("__vectorcall", Some(bytes)) => (first, Some(bytes.strip_prefix('@').unwrap_or(bytes))),
        ("__fastcall", Some(bytes)) => (first, Some(bytes)),
        _ => return None,
    };
    let bytes = bytes.map(|bytes| bytes.parse().ok());
    if name.is_empty() || bytes == Some(None) || bits != 32 && first != "__vectorcall" {
        return None;
    }
    Some(Plain { name, convention, bytes: bytes.flatten() })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '<' | '>' | '-' | '.')
}

impl Plain<'_> {
    /// The name with what the decoration says.
    pub fn text(&self) -> String {
        match self.bytes {
            Some(bytes) => format!("{} {},{bytes}", self.convention, self.name),
            None => self.name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorations_tell_how_functions_are_called() {
        let text = |name, bits| plain(name, bits).map(|plain| plain.text());
        let known = |name| text(name, 32).expect(name);
        assert_eq!(known("_main"), "main");
        assert_eq!(known("_area.part.0"), "area.part.0");
        assert_eq!(known("_window_proc@16"), "__stdcall window_proc,16");
        assert_eq!(known("@mix@8"), "__fastcall mix,8");
        assert_eq!(known("blend@@32"), "__vectorcall blend,32");
        assert_eq!(plain("_stop@0", 32).map(|plain| plain.convention), Some("__stdcall"));
        assert_eq!(text("blend@@32", 64).as_deref(), Some("__vectorcall blend,32"));
    }

    #[test]
    fn other_names_stay() {
        let others = [
            "main",
            "___main",
            "__cexit",
            "_WinMain@16",
            "_",
            "@",
            "",
            "_main@",
            "_a@4x",
            "@mix",
            "@mix@@8",
            "?f@@YAXXZ",
            ".text",
            "_f@99999999999",
            "_a b",
            "_@4",
        ];
        for name in others {
            assert_eq!(plain(name, 32), None, "{name}");
        }
        for name in ["_main", "_stop@4", "@mix@8"] {
            assert_eq!(plain(name, 64), None, "{name}");
        }
    }
}
