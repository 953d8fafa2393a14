//! The protocol versions we speak, and how a handshake settles on one.

/// A published version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Stateless: every request carries its metadata.
    V2026_07_28,
    /// Begins with `initialize`.
    V2025_11_25,
    /// Begins with `initialize`.
    V2025_06_18,
}

impl Version {
    /// Every version, newest first.
    pub const ALL: [Version; 3] =
        [Version::V2026_07_28, Version::V2025_11_25, Version::V2025_06_18];

    /// The versions that can be named in request metadata.
    pub const MODERN: [Version; 1] = [Version::V2026_07_28];

    /// The version as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::V2026_07_28 => "2026-07-28",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2025_06_18 => "2025-06-18",
        }
    }

    /// Reads a version that begins with `initialize`.
    pub fn legacy(text: &str) -> Option<Version> {
        Self::ALL.into_iter().find(|version| !version.is_modern() && version.as_str() == text)
    }

    /// Whether requests carry their own metadata.
    pub fn is_modern(self) -> bool {
        Self::MODERN.contains(&self)
    }

    /// What `initialize` settles on: the wanted version when a handshake can
    /// lead to it, else the newest that it can lead to.
    pub fn negotiate(wanted: &str) -> Version {
        Version::legacy(wanted).unwrap_or(Version::V2025_11_25)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_never_leads_to_the_modern_era() {
        let rows = [
            ("2025-06-18", Version::V2025_06_18),
            ("2025-11-25", Version::V2025_11_25),
            ("2026-07-28", Version::V2025_11_25),
            ("2024-11-05", Version::V2025_11_25),
            ("1999", Version::V2025_11_25),
            ("", Version::V2025_11_25),
        ];
        for (wanted, settled) in rows {
            assert_eq!(Version::negotiate(wanted), settled, "{wanted}");
        }
    }
}
