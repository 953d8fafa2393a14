//! The tool list as clients see it, held against what real clients refuse.

use super::*;

/// What a list may weigh: every model pays for it before its first call.
const BUDGET: usize = 20_000;
/// What it may weigh with everything beyond the document: under 12,000 tokens.
const EXTENDED_BUDGET: usize = 36_000;

fn style(names: ToolNames, schemas: ToolSchemas) -> ToolStyle {
    ToolStyle { prefix: "ghidra".into(), names, schemas }
}

fn catalog(schemas: ToolSchemas) -> Catalog {
    Catalog::new(api::registry(), style(ToolNames::Dotted, schemas), false)
}

fn both() -> [Catalog; 2] {
    [catalog(ToolSchemas::Compact), catalog(ToolSchemas::Full)]
}

fn extended(schemas: ToolSchemas) -> Catalog {
    let registry = Registry::of(api::Surface::Workspace);
    Catalog::new(registry, style(ToolNames::Dotted, schemas), false)
}

/// Both forms of the document's surface, and of everything.
fn all() -> [Catalog; 4] {
    let [compact, full] = both();
    [compact, full, extended(ToolSchemas::Compact), extended(ToolSchemas::Full)]
}

fn both_surfaces(schemas: ToolSchemas) -> [Catalog; 2] {
    [catalog(schemas), extended(schemas)]
}

fn tools(catalog: &Catalog) -> &[Value] {
    catalog.list().as_array().expect("a list")
}

/// Every schema node below `node`, with its path.
fn walk(path: &str, node: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, node);
    for name in ["properties", "$defs"] {
        for (member, child) in node.get(name).and_then(Value::as_object).into_iter().flatten() {
            walk(&format!("{path}/{name}/{member}"), child, visit);
        }
    }
    if let Some(items) = node.get("items") {
        walk(&format!("{path}/items"), items, visit);
    }
    for name in ["oneOf", "anyOf", "allOf"] {
        for child in node.get(name).and_then(Value::as_array).into_iter().flatten() {
            walk(&format!("{path}/{name}"), child, visit);
        }
    }
}

fn every_node(catalog: &Catalog, visit: &mut impl FnMut(&str, &Value)) {
    for tool in tools(catalog) {
        for name in ["inputSchema", "outputSchema"] {
            walk(&format!("{}/{name}", tool["name"]), &tool[name], visit);
        }
    }
}

#[test]
fn fifteen_tools_help_first() {
    let expected = [
        "help",
        "bridge",
        "program",
        "address",
        "memory",
        "listing",
        "global_variable",
        "function",
        "analysis",
        "decompilation",
        "symbol",
        "reference",
        "comment",
        "data_type",
        "batch",
    ];
    for catalog in both() {
        let names: Vec<&str> = tools(&catalog).iter().filter_map(|t| t["name"].as_str()).collect();
        let dotted: Vec<String> = expected.iter().map(|name| format!("ghidra.{name}")).collect();
        assert_eq!(names, dotted);
    }
    let underscore =
        Catalog::new(api::registry(), style(ToolNames::Underscore, ToolSchemas::Compact), false);
    assert_eq!(tools(&underscore)[4]["name"], "ghidra_memory");
    for tool in tools(&underscore) {
        let name = tool["name"].as_str().expect("a name");
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(name.chars().all(fits) && name.len() <= 40, "{name}: strict clients allow no more");
    }
}

#[test]
fn the_compact_list_is_short() {
    let size = catalog(ToolSchemas::Compact).list().to_string().len();
    assert!(size < BUDGET, "{size} bytes");
    let size = extended(ToolSchemas::Compact).list().to_string().len();
    assert!(size < EXTENDED_BUDGET, "{size} bytes with extensions");
}

#[test]
fn compact_schemas_use_no_more_than_every_client_knows() {
    for catalog in both_surfaces(ToolSchemas::Compact) {
        every_node(&catalog, &mut |path, node| {
            let members = node.as_object().unwrap_or_else(|| panic!("{path} is no object"));
            let kind = members.get("type").and_then(Value::as_str);
            let kind = kind.unwrap_or_else(|| panic!("{path} needs exactly one type: {node}"));
            for name in members.keys() {
                let known = ["type", "properties", "required", "items", "enum", "description"];
                let closed = name == "additionalProperties" && path.ends_with("inputSchema");
                assert!(known.contains(&name.as_str()) || closed, "{path} has {name}");
            }
            assert_eq!(kind == "array", members.contains_key("items"), "{path}");
            // What answers look like is no model's business, so the root may be open.
            if path.ends_with("outputSchema") {
                return;
            }
            let properties = members.get("properties").and_then(Value::as_object);
            let filled = properties.is_some_and(|properties| !properties.is_empty());
            assert_eq!(
                kind == "object",
                filled,
                "{path} has no members, which some clients refuse"
            );
            if let Some(values) = members.get("enum").and_then(Value::as_array) {
                assert!(kind == "string" && !values.is_empty(), "{path}");
                assert!(values.iter().all(|value| value.as_str().is_some_and(|v| !v.is_empty())));
            }
        });
    }
}

fn kind(node: &Value) -> Option<&str> {
    node.get("type").and_then(Value::as_str)
}

/// Checks that `compact` does not refuse what `full` admits, node by node, down to where it only
/// sketches what there is.
fn admits(path: &str, compact: &Value, full: &Value, root: &Value, depth: usize) {
    let sketch = compact["properties"].as_object().is_some_and(|shown| {
        shown.len() == 1 && shown.values().all(|node| node.get("enum").is_none())
    });
    if sketch && depth <= 1 {
        return;
    }
    // Where an object can be sent as text, the text is shown.
    if depth == 0 || api::TextForm::of(full).is_some() && compact["type"] == "string" {
        return;
    }
    if let Some(reference) = full.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).expect("a definition");
        return admits(path, compact, target, root, depth - 1);
    }
    if let Some(alternatives) = full.get("oneOf").and_then(Value::as_array) {
        // Where the alternatives differ in type, one type has to do.
        let wanted = kind(compact);
        let mut fitting = alternatives
            .iter()
            .filter(|node| kind(node).is_none() || kind(node) == wanted)
            .peekable();
        assert!(fitting.peek().is_some(), "{path}");
        for alternative in fitting {
            admits(path, compact, alternative, root, depth);
        }
        return;
    }
    let kind = full.get("type").and_then(Value::as_str).unwrap_or("object");
    assert_eq!(compact["type"], kind, "{path}");
    if let Some(values) = compact.get("enum").and_then(Value::as_array) {
        let all = full.get("enum").and_then(Value::as_array);
        let all = all.unwrap_or_else(|| panic!("{path} lists values, the full schema does not"));
        assert!(all.iter().all(|value| values.contains(value)), "{path}: {values:?} {all:?}");
    }
    for (name, node) in full.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}/{name}");
        let Some(mine) = compact["properties"].get(name) else {
            let empty = node["properties"].as_object().is_some_and(Map::is_empty);
            assert!(empty, "{path} is missing");
            continue;
        };
        admits(&path, mine, node, root, depth - 1);
    }
    if let Some(items) = full.get("items") {
        admits(&format!("{path}/items"), &compact["items"], items, root, depth - 1);
    }
}

#[test]
fn compact_schemas_refuse_nothing_that_full_ones_admit() {
    let catalog = extended(ToolSchemas::Compact);
    for (tool, domain) in tools(&catalog)[1..].iter().zip(catalog.registry.domains()) {
        let compact = tool.pointer("/inputSchema/properties/params").expect("params");
        for method in served(catalog.registry, domain.name, false) {
            let full = method.input_schema();
            let depth = if method.name() == "batch.execute" { 2 } else { 3 };
            admits(method.name(), compact, full, full, depth);
        }
    }
}

#[test]
fn full_schemas_are_self_contained() {
    for tool in tools(&extended(ToolSchemas::Full)) {
        for name in ["inputSchema", "outputSchema"] {
            let schema = &tool[name];
            walk(name, schema, &mut |path, node| {
                let Some(reference) = node.get("$ref").and_then(Value::as_str) else { return };
                let pointer = reference.strip_prefix('#').expect("a local reference");
                assert!(schema.pointer(pointer).is_some(), "{} {path}: {reference}", tool["name"]);
            });
        }
    }
}

#[test]
fn definitions_of_one_tool_agree() {
    let registry = Registry::of(api::Surface::Workspace);
    for domain in registry.domains() {
        for pick in [Method::input_schema, Method::output_schema] {
            let mut seen = Map::new();
            for method in served(registry, domain.name, false) {
                let found = pick(method).get("$defs").and_then(Value::as_object);
                for (name, definition) in found.into_iter().flatten() {
                    let first = seen.entry(name.clone()).or_insert(definition.clone());
                    assert_eq!(first, definition, "{}: {name}", domain.name);
                }
            }
        }
    }
}

#[test]
fn roots_are_objects_that_name_their_properties() {
    for catalog in all() {
        for tool in tools(&catalog) {
            for name in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[name]["type"], "object", "{}", tool["name"]);
                let properties = tool[name].get("properties").and_then(Value::as_object);
                let plain = properties.into_iter().flatten().all(|(_, node)| node.is_object());
                assert!(plain, "{}: boolean schemas break older clients", tool["name"]);
            }
        }
        for tool in &tools(&catalog)[1..] {
            let input = &tool["inputSchema"];
            assert_eq!(input["required"], json!(["operation"]));
            assert!(input.pointer("/properties/params").is_some());
            let names = input.pointer("/properties/operation/enum").and_then(Value::as_array);
            assert!(names.is_some_and(|names| !names.is_empty()), "{}", tool["name"]);
        }
    }
}

#[test]
fn descriptions_name_every_operation() {
    for catalog in both_surfaces(ToolSchemas::Compact) {
        let mut count = 0;
        for (tool, domain) in tools(&catalog)[1..].iter().zip(catalog.registry.domains()) {
            let text = tool["description"].as_str().expect("a description");
            for method in served(catalog.registry, domain.name, false) {
                assert!(text.contains(&format!("\n{}(", method.operation())), "{text}");
                count += 1;
            }
        }
        assert_eq!(count, offered(catalog.registry));
    }
    let catalog = catalog(ToolSchemas::Compact);
    let memory = tools(&catalog)[4]["description"].as_str().expect("a description");
    assert!(memory.contains("\nread(selector{address}, length?, "), "{memory}");
    let function = tools(&catalog)[7]["description"].as_str().expect("a description");
    assert!(function.contains("\nlist(filter{name,entry,contains,external,thunk}?, page?, "));
}

#[test]
fn annotations_tell_the_truth() {
    for catalog in all() {
        for tool in tools(&catalog) {
            assert_eq!(tool["annotations"]["openWorldHint"], false);
        }
        let hints = |index: usize| {
            let hints = &tools(&catalog)[index]["annotations"];
            [&hints["readOnlyHint"], &hints["destructiveHint"], &hints["idempotentHint"]]
                .map(|hint| hint.as_bool().expect("a boolean"))
        };
        assert_eq!(hints(0), [true, false, true], "help");
        assert_eq!(hints(3), [true, false, true], "address");
        assert_eq!(hints(9), [true, false, true], "decompilation");
        assert_eq!(hints(4), [false, true, true], "memory");
        assert_eq!(hints(14), [false, true, false], "batch");
    }
}

#[test]
fn read_only_lists_only_what_reads() {
    let catalog = Catalog::new(api::registry(), style(ToolNames::Dotted, ToolSchemas::Full), true);
    let names: Vec<&str> = tools(&catalog).iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(!names.contains(&"ghidra.batch"), "it has nothing left");
    let memory =
        tools(&catalog).iter().find(|tool| tool["name"] == "ghidra.memory").expect("memory");
    let operations = memory.pointer("/inputSchema/properties/operation/enum").expect("operations");
    assert_eq!(operations, &json!(["block.get", "block.list", "read", "search"]));
    assert_eq!(memory["annotations"]["readOnlyHint"], true);
}

/// How many operations the tools of a registry have.
fn offered(registry: &Registry) -> usize {
    registry.methods().iter().filter(|method| !method.websocket_only()).count()
}

fn empty_session() -> engine::Session {
    engine::Session::empty().expect("the language is built in")
}

fn call(catalog: &Catalog, name: &str, arguments: Value) -> Result<Result<Value, Value>, i64> {
    let bridge = Bridge::new(empty_session(), api::BridgeOptions::default());
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let outcome = catalog.call(&bridge, name, arguments, &CallContext::new(api::Transport::Mcp));
    let outcome = outcome.map(|answer| answer.map(|answered| answered.structured));
    outcome.map_err(|failure| {
        assert_eq!(failure.http_status, 400);
        failure.code
    })
}

fn error(outcome: Result<Result<Value, Value>, i64>) -> (u64, String, String) {
    let error = outcome.expect("a tool error").expect_err("an error");
    assert_eq!(error.as_object().map(Map::len), Some(5), "{error}");
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    assert!(!text("message").is_empty());
    (error["status"].as_u64().unwrap_or_default(), text("code"), text("target"))
}

#[test]
fn names_are_found_in_both_spellings() {
    for catalog in both() {
        for name in ["ghidra.help", "ghidra_help"] {
            assert!(call(&catalog, name, json!({})).is_ok_and(|outcome| outcome.is_ok()));
        }
        for name in [
            "ghidra.nope",
            "help",
            "other.help",
            "ghidrahelp",
            "ghidra-help",
            "GHIDRA.help",
            "ghidra..help",
            "ghidra.",
        ] {
            assert_eq!(call(&catalog, name, json!({})), Err(-32602), "{name}");
        }
    }
}

#[test]
fn help_leads_from_domains_to_schemas() {
    let catalog = catalog(ToolSchemas::Compact);
    let help = |arguments: Value| call(&catalog, "ghidra.help", arguments).expect("a tool");
    let all = help(json!({})).expect("domains");
    assert_eq!(all.as_object().map(Map::len), Some(2));
    assert_eq!(all["domains"].as_array().map(Vec::len), Some(14));
    assert_eq!(all["domains"][3], "ghidra.memory");

    for domain in ["memory", "ghidra.memory", "ghidra_memory"] {
        let memory = help(json!({ "domain": domain })).expect("operations");
        assert_eq!(
            memory,
            json!({
                "domain": "ghidra.memory",
                "operations": ["block.get", "block.list", "read", "search", "write"],
            })
        );
    }

    let read = help(json!({"domain": "memory", "operation": "read"})).expect("schemas");
    let names: Vec<&String> = read.as_object().expect("an object").keys().collect();
    let wanted =
        ["domain", "operation", "method", "description", "inputSchema", "outputSchema", "effects"];
    assert_eq!(names, wanted);
    assert_eq!(read["method"], "memory.read");
    assert_eq!(read["effects"].as_object().map(Map::len), Some(6));

    for (arguments, target) in [
        (json!({"operation": "read"}), "/domain"),
        (json!({"domain": "nope"}), "/domain"),
        (json!({"domain": "other.memory"}), "/domain"),
        (json!({"domain": 1}), "/domain"),
        (json!({"domain": "memory", "operation": "nope"}), "/operation"),
        (json!({"domain": "memory", "operation": "memory.read"}), "/operation"),
        (json!({"extra": 1}), "/extra"),
        (json!({"full": 1}), "/full"),
        (json!({"a/b~c": 1}), "/a~1b~0c"),
    ] {
        let outcome = call(&catalog, "ghidra.help", arguments.clone());
        assert_eq!(error(outcome), (400, "invalid_request".into(), target.into()), "{arguments}");
    }
}

/// What the help on one operation may weigh, in either form.
const HELP_BUDGET: usize = 4_000;

#[test]
fn every_operation_can_be_asked_about_and_answers_little() {
    let bridge = Bridge::new(empty_session(), api::BridgeOptions::default());
    for catalog in all() {
        for method in catalog.registry.methods().iter().filter(|method| !method.websocket_only()) {
            let asked = json!({"domain": method.domain(), "operation": method.operation()});
            let arguments = asked.as_object().cloned().expect("an object");
            let answer = catalog.call(
                &bridge,
                "ghidra.help",
                arguments,
                &CallContext::new(api::Transport::Mcp),
            );
            let answer = answer.expect("a tool").expect("an entry");
            let entry = &answer.structured;
            assert_eq!(entry["method"], method.name());
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(entry[schema]["type"], "object", "{}", method.name());
            }
            let json = entry.to_string();
            let text = answer.text.unwrap_or_else(|| json.clone());
            for (form, size) in [("object", json.len()), ("text", text.len())] {
                assert!(size <= HELP_BUDGET, "{} as {form}: {size}\n{text}", method.name());
            }
            assert!(text.contains(method.description()), "{text}");
        }
    }
}

#[test]
fn all_of_an_operation_is_told_when_asked_for() {
    let catalog = catalog(ToolSchemas::Compact);
    let ask = |full: Value| {
        let arguments = json!({"domain": "batch", "operation": "execute", "full": full});
        call(&catalog, "ghidra.help", arguments).expect("a tool").expect("an entry")
    };
    let execute = api::registry().find("batch.execute").expect("a method");
    assert_eq!(&ask(json!(true))["inputSchema"], execute.input_schema());
    assert!(ask(json!(true)).get("note").is_none());
    assert_ne!(&ask(json!(false))["inputSchema"], execute.input_schema());
    assert!(ask(Value::Null)["note"].as_str().is_some_and(|note| note.contains("full: true")));
}

#[test]
fn bad_arguments_are_tool_errors() {
    let catalog = catalog(ToolSchemas::Compact);
    for (arguments, code, target) in [
        (json!({}), "missing_field", "/operation"),
        (json!({"operation": null}), "missing_field", "/operation"),
        (json!({"operation": 1}), "invalid_type", "/operation"),
        (json!({"operation": ""}), "invalid_enum", "/operation"),
        (json!({"operation": "memory.read"}), "invalid_enum", "/operation"),
        (json!({"operation": "read", "address": "main"}), "invalid_request", "/address"),
        (json!({"operation": "read", "params": []}), "invalid_type", "/params"),
        (json!({"operation": "read", "params": 1}), "invalid_type", "/params"),
        (json!({"operation": "read", "params": "nonsense"}), "invalid_type", "/params"),
        (json!({"operation": "read", "params": "[]"}), "invalid_type", "/params"),
        (json!({"operation": "read"}), "missing_field", "/params/selector"),
        (json!({"operation": "read", "params": null}), "missing_field", "/params/selector"),
        (json!({"operation": "read", "params": "{}"}), "missing_field", "/params/selector"),
        (
            json!({"operation": "read", "params": {"selector": {}}}),
            "missing_field",
            "/params/selector/address",
        ),
        (
            json!({"operation": "read", "params": "{\"selector\":{}}"}),
            "missing_field",
            "/params/selector/address",
        ),
    ] {
        let outcome = call(&catalog, "ghidra.memory", arguments.clone());
        assert_eq!(error(outcome), (400, code.into(), target.into()), "{arguments}");
    }
}

#[test]
fn interface_get_has_no_tool() {
    let catalog = catalog(ToolSchemas::Full);
    for method in api::registry().methods().iter().filter(|method| method.websocket_only()) {
        for domain in api::registry().domains() {
            let name = catalog.name(domain.name);
            for operation in [method.operation(), method.name()] {
                let known = api::registry().operation(domain.name, operation);
                if known.is_none_or(|known| known.name() == method.name()) {
                    let outcome = call(&catalog, &name, json!({"operation": operation}));
                    assert_eq!(error(outcome).1, "invalid_enum");
                }
            }
        }
    }
}

#[test]
fn the_contract_holds_the_list_and_every_operation() {
    for catalog in all() {
        let contract: Value = serde_json::from_str(&catalog.contract()).expect("JSON");
        assert_eq!(contract["protocol_version"], "2026-07-28");
        assert_eq!(contract["interface_version"], catalog.registry.interface_version());
        assert_eq!(&contract["tools"], catalog.list());
        let operations = contract["operations"].as_array().expect("operations");
        assert_eq!(operations.len(), offered(catalog.registry));
        for operation in operations {
            let name = operation["method"].as_str().expect("a name");
            let method = catalog.registry.find(name).expect("a method");
            assert_eq!(operation.get("since").and_then(Value::as_str), method.since_version());
        }
    }
}

/// `docs/mcp-tools.json` is the contract resource; `cargo xtask codegen` writes it again.
#[test]
fn the_document_is_the_contract_resource() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp-tools.json");
    let contract: Value = serde_json::from_str(&catalog(ToolSchemas::Compact).contract())
        .expect("the contract is JSON");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text = serde_json::to_string_pretty(&contract).expect("prints") + "\n";
        std::fs::write(&path, text).expect("the document can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
    let hint = "docs/mcp-tools.json is out of date; run `cargo xtask codegen`";
    for part in ["protocol_version", "interface_version", "tools", "operations"] {
        let (old, new) = (&kept[part], &contract[part]);
        for (old, new) in
            old.as_array().into_iter().flatten().zip(new.as_array().into_iter().flatten())
        {
            assert!(old == new, "{hint}; first difference in {part}: {}", new["name"]);
        }
        assert!(old == new, "{hint}; {part} differs");
    }
}
