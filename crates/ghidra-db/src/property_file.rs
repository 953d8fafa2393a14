//! The property file (`.prp`): named states in a small XML document.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::Event;

/// The states of a property file by their names; `None` when it is no such file.
pub(crate) fn states(text: &str) -> Option<HashMap<String, String>> {
    let mut reader = Reader::from_str(text);
    let mut states = HashMap::new();
    let mut root = false;
    loop {
        let element = match reader.read_event().ok()? {
            Event::Start(element) | Event::Empty(element) => element,
            Event::Eof => return root.then_some(states),
            _ => continue,
        };
        match element.name().as_ref() {
            b"FILE_INFO" => root = true,
            b"STATE" => {
                let value = |name: &str| {
                    let attribute = element.try_get_attribute(name).ok()??;
                    Some(attribute.unescape_value().ok()?.into_owned())
                };
                if let (Some(name), Some(value)) = (value("NAME"), value("VALUE")) {
                    states.insert(name, value);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::states;

    #[test]
    fn states_are_read_and_entities_resolved() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
            <FILE_INFO><BASIC_INFO>
            <STATE NAME="NAME" TYPE="string" VALUE="a &lt;b&gt; &amp; c" />
            <STATE NAME="PARENT" TYPE="string" VALUE="/x" />
            </BASIC_INFO></FILE_INFO>"#;
        let states = states(text).unwrap();
        assert_eq!(states["NAME"], "a <b> & c");
        assert_eq!(states["PARENT"], "/x");
    }

    #[test]
    fn what_is_no_property_file_is_refused() {
        assert!(states("").is_none());
        assert!(states("<FILE_INFO><STATE").is_none());
        assert!(states("<OTHER/>").is_none());
    }
}
