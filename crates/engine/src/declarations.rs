//! C declarations in a program: those of its user, with the types that headers of its system have.

pub use ::declarations::{CError, Declaration, Declared, Place, Prototype};
use analysis::offer_windows_types;
use program::TypeId;
use program::data_type::DataTypes;

/// Reads every declaration of a text, with its place; types of Windows are known in programs for
/// Windows. See [`::declarations::parse_places`].
pub fn parse_places(
    text: &str,
    types: &mut DataTypes,
    category: &str,
) -> Result<Vec<Declared>, CError> {
    offer_windows_types(types);
    ::declarations::parse_places(text, types, category)
}

/// Reads one type, as in a cast. See [`::declarations::parse_type`].
pub fn parse_type(text: &str, types: &mut DataTypes) -> Result<TypeId, CError> {
    offer_windows_types(types);
    ::declarations::parse_type(text, types)
}

/// Reads one function declaration. See [`::declarations::parse_prototype`].
pub fn parse_prototype(text: &str, types: &mut DataTypes) -> Result<Prototype, CError> {
    offer_windows_types(types);
    ::declarations::parse_prototype(text, types)
}
