//! What must hold for every row of the registry.

use std::collections::HashSet;

use api::{Method, Registry, Surface, registry};
use serde_json::Value;

#[test]
fn fifty_six_methods_in_their_published_order() {
    let methods = registry().methods();
    assert_eq!(methods.len(), 56);
    let names: HashSet<&str> = methods.iter().map(Method::name).collect();
    assert_eq!(names.len(), 56, "a name is used twice");
    assert_eq!(methods[0].name(), "interface.get");
    assert_eq!(methods[55].name(), "batch.execute");
    let after = |name: &str| {
        let at = methods.iter().position(|method| method.name() == name).expect("is a method");
        methods[at + 1].name()
    };
    assert_eq!(after("function.list"), "function.create");
    assert_eq!(after("function.patch"), "function.delete");
    assert_eq!(after("memory.read"), "memory.search");
}

#[test]
fn fourteen_domains_hold_fifty_five_operations() {
    let domains = registry().domains();
    assert_eq!(domains.len(), 14);
    let mut seen = HashSet::new();
    for domain in &domains {
        for method in registry().operations(domain.name) {
            assert!(seen.insert((domain.name, method.operation())), "{} twice", method.operation());
            let found = registry().operation(domain.name, method.operation()).expect("is found");
            assert_eq!(found.name(), method.name());
        }
    }
    assert_eq!(seen.len(), 55);
    assert!(
        registry()
            .methods()
            .iter()
            .filter(|m| m.websocket_only())
            .all(|m| m.name() == "interface.get")
    );
}

#[test]
fn operations_drop_the_noun_of_their_domain() {
    for (domain, name, wanted) in [
        ("bridge", "session.get", "get"),
        ("program", "program_language.get", "language.get"),
        ("memory", "memory_block.list", "block.list"),
        ("memory", "memory.read", "read"),
        ("listing", "code_unit.list", "code_unit.list"),
        ("global_variable", "global_variable.get", "get"),
        ("function", "function_local_variable.patch", "local_variable.patch"),
        ("data_type", "data_type_category.list", "category.list"),
    ] {
        let method = registry().find(name).expect("is a method");
        assert_eq!((method.domain(), method.operation()), (domain, wanted));
    }
}

#[test]
fn rows_are_well_formed() {
    for method in Registry::of(Surface::Workspace).methods() {
        let name = method.name();
        // An extended method of a noun that the document has too stands behind its domain.
        let parts = match (name.split_once('.'), method.since_version()) {
            (Some((domain, rest)), Some(_)) if domain == method.domain() && rest.contains('.') => {
                rest
            }
            _ => name,
        };
        assert_eq!(parts.split('.').count(), 2, "{name} is noun.verb");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '.'), "{name}");
        assert!(method.description().ends_with('.'), "the text of {name} is a sentence");
        let effects = method.effects();
        assert!(!(effects.read_only && effects.mutates_program), "{name}");
        assert!(effects.mutates_program || !effects.requires_transaction, "{name}");
        assert_eq!(
            effects.read_only && !method.websocket_only(),
            method.batchable() && effects.read_only,
            "{name}"
        );
        if method.scans() {
            assert!(
                method.paged() && method.cost_text().is_some(),
                "{name} walks, so it says its cost"
            );
        }
        for field in method.identity() {
            let row = row(method.output_schema());
            assert!(row["properties"].get(field).is_some(), "{name} has no {field}");
        }
        for path in method.selectable() {
            assert!(exists(row(method.output_schema()), path), "{name} has no {path}");
        }
    }
}

#[test]
fn forty_eight_old_and_three_new_methods_may_stand_in_a_batch() {
    let batchable = registry().methods().iter().filter(|method| method.batchable()).count();
    assert_eq!(batchable, 51);
}

#[test]
fn every_schema_is_closed_and_speaks_the_dialect() {
    for method in Registry::of(Surface::Workspace).methods() {
        for schema in [method.input_schema(), method.output_schema()] {
            assert_eq!(schema["type"], "object", "{}", method.name());
            walk(schema, method.name());
            references_resolve(schema, schema, method.name());
        }
    }
}

const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minProperties",
    "pattern",
    "default",
    "oneOf",
    "$ref",
    "$defs",
    "description",
];

fn walk(schema: &Value, name: &str) {
    let Value::Object(members) = schema else { panic!("{name}: a schema that is no object") };
    for (keyword, value) in members {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{name} uses {keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(inner)) => {
                inner.values().for_each(|s| walk(s, name))
            }
            ("oneOf", Value::Array(inner)) => inner.iter().for_each(|s| walk(s, name)),
            ("items", inner) => walk(inner, name),
            ("type", kind) => assert!(kind.is_string(), "{name} has a list of types"),
            _ => {}
        }
    }
    if members.get("type") == Some(&Value::from("object")) {
        let free = members.get("additionalProperties") == Some(&Value::Bool(true));
        let closed = members.get("additionalProperties") == Some(&Value::Bool(false));
        assert!(
            closed || (free && !members.contains_key("properties")),
            "{name} has an open object: {schema}"
        );
    }
}

fn references_resolve(schema: &Value, root: &Value, name: &str) {
    match schema {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').expect("local");
                assert!(root.pointer(pointer).is_some(), "{name}: {reference} leads nowhere");
            }
            members.values().for_each(|s| references_resolve(s, root, name));
        }
        Value::Array(items) => items.iter().for_each(|s| references_resolve(s, root, name)),
        _ => {}
    }
}

fn row(schema: &Value) -> &Value {
    match schema.pointer("/properties/items/items") {
        Some(row) if schema.pointer("/properties/path").is_none() => row,
        _ => schema,
    }
}

/// Whether a selectable path leads to a member; alternatives are looked into.
fn exists(schema: &Value, path: &str) -> bool {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    let alternatives = schema.get("oneOf").and_then(Value::as_array);
    if alternatives.is_some_and(|inner| inner.iter().any(|s| exists(s, path))) {
        return true;
    }
    let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
    match (schema["properties"].get(head), rest) {
        (Some(_), None) => true,
        (Some(inner), Some(rest)) => exists(inner, rest),
        (None, _) => false,
    }
}

const SURFACES: [Surface; 3] = [Surface::Document, Surface::Extensions, Surface::Workspace];

#[test]
fn each_surface_holds_those_before_it() {
    for pair in SURFACES.windows(2) {
        let [smaller, larger] = pair else { panic!("two") };
        let larger = Registry::of(*larger);
        for method in Registry::of(*smaller).methods() {
            let same = larger.find(method.name()).expect("is there as well");
            assert_eq!(same.since_version(), method.since_version());
            assert_eq!(same.effects(), method.effects());
            // These two speak of the other methods.
            if !matches!(method.name(), "interface.get" | "batch.execute") {
                assert_eq!(same.input_schema(), method.input_schema());
                assert_eq!(same.output_schema(), method.output_schema());
            }
        }
    }
    let document: HashSet<&str> = registry().methods().iter().map(Method::name).collect();
    for surface in SURFACES {
        let registry = Registry::of(surface);
        for method in registry.methods() {
            let extended = !document.contains(method.name());
            assert_eq!(method.since_version().is_some(), extended, "{}", method.name());
        }
        let domains = registry.domains();
        let names: HashSet<&str> = domains.iter().map(|domain| domain.name).collect();
        assert_eq!(names.len(), domains.len(), "a domain stands twice");
        let mut operations = HashSet::new();
        for method in registry.methods() {
            assert!(names.contains(method.domain()), "{}", method.name());
            let own = operations.insert((method.domain(), method.operation()));
            assert!(own || method.websocket_only(), "{} twice", method.operation());
        }
    }
}

#[test]
fn the_documents_surface_shows_nothing_of_the_others() {
    let of = |surface| Registry::of(surface).find("interface.get").expect("a method");
    let document = of(Surface::Document).output_schema();
    let extended = of(Surface::Extensions).output_schema();
    let since = "/properties/methods/items/properties/since";
    assert!(document.pointer(since).is_none() && extended.pointer(since).is_some());
    for surface in SURFACES {
        let count = Registry::of(surface).methods().len();
        let list = &of(surface).output_schema()["properties"]["methods"];
        assert_eq!((&list["minItems"], &list["maxItems"]), (&count.into(), &count.into()));
    }
    assert_eq!(registry().interface_version(), "1.0.0");
    assert_eq!(Registry::of(Surface::Extensions).interface_version(), "1.1.0");
}

#[test]
fn a_batch_may_hold_extended_methods_where_they_are_served() {
    let alternatives = |surface| {
        let batch = Registry::of(surface).find("batch.execute").expect("a method");
        let items = batch.input_schema().pointer("/properties/items/items/oneOf");
        items.and_then(Value::as_array).expect("alternatives").len()
    };
    for surface in SURFACES {
        let methods = Registry::of(surface).methods();
        let batchable = methods.iter().filter(|method| method.batchable()).count();
        assert_eq!(alternatives(surface), batchable);
    }
    assert!(alternatives(Surface::Extensions) > alternatives(Surface::Document));
}
