//! What Ghidra says.

use serde_json::Value as Json;

use super::Items;

fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// Fields of an object, or elements of a list, one after the other.
fn join(values: &[&Json]) -> String {
    values.iter().map(|value| text(value)).collect::<Vec<_>>().join(" | ")
}

fn rows<'a>(dump: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    dump[key].as_array().into_iter().flatten()
}

fn fields(dump: &Json, key: &str, names: &[&str]) -> Vec<String> {
    rows(dump, key)
        .map(|row| join(&names.iter().map(|name| &row[*name]).collect::<Vec<_>>()))
        .collect()
}

fn columns(dump: &Json, key: &str, columns: &[usize]) -> Vec<String> {
    rows(dump, key)
        .map(|row| join(&columns.iter().map(|column| &row[*column]).collect::<Vec<_>>()))
        .collect()
}

pub fn stated(dump: &Json) -> Items {
    let mut items = Items::new();
    items.insert("program", program(dump));
    let block = ["name", "start", "end", "perms", "type", "loaded", "source", "comment"];
    items.insert("memory blocks", fields(dump, "memory_blocks", &block));
    items.insert("bytes of blocks", columns(dump, "block_bytes", &[0, 1, 2, 3]));
    functions(dump, &mut items);
    let symbols = rows(dump, "symbols").filter(|row| !text(&row[6]).contains('D'));
    let symbols = symbols.map(|row| {
        let all: Vec<&Json> = (0..7).map(|column| &row[column]).collect();
        join(&all)
    });
    items.insert("symbols", symbols.collect());
    items.insert("namespaces", columns(dump, "namespaces", &[0, 1, 2]));
    items.insert("references", columns(dump, "references", &[0, 1, 2, 3, 4, 5]));
    items.insert("entry points", rows(dump, "entry_points").map(text).collect());
    items.insert("data", columns(dump, "data", &[0, 1, 2]));
    items.insert("comments", columns(dump, "comments", &[0, 1, 2]));
    let relocations = rows(dump, "relocations").map(|row| {
        let applied = text(&row[1]).starts_with("APPLIED").to_string();
        format!("{} | {applied} | {}", text(&row[0]), join(&[&row[2], &row[4], &row[5]]))
    });
    items.insert("relocations", relocations.collect());
    items.insert("flow overrides", columns(dump, "flow_overrides", &[0, 1]));
    items.insert("length overrides", columns(dump, "length_overrides", &[0, 1]));
    data_types(dump, &mut items);
    items
}

fn program(dump: &Json) -> Vec<String> {
    let program = &dump["program"];
    let keys = ["name", "language", "compiler_spec", "image_base", "format", "md5", "sha256"];
    let counts = ["function_count", "instruction_count", "defined_data_count"];
    keys.iter().chain(&counts).map(|key| format!("{key} {}", text(&program[*key]))).collect()
}

fn functions(dump: &Json, items: &mut Items) {
    let facts: [(&str, &[&str]); 11] = [
        ("functions", &["name", "namespace"]),
        ("name sources", &["name_source"]),
        ("signature sources", &["signature_source"]),
        ("conventions", &["calling_convention"]),
        ("bodies", &["body_size"]),
        ("flags", &["inline", "noreturn", "varargs", "custom_storage"]),
        ("thunks", &["thunk", "thunk_of_address"]),
        ("stack purges", &["stack_purge"]),
        ("call fix-ups", &["call_fixup"]),
        ("returns", &[]),
        ("externals", &["external"]),
    ];
    for (kind, keys) in facts {
        let rows = rows(dump, "functions").map(|row| {
            let values: Vec<&Json> = keys.iter().map(|key| &row[*key]).collect();
            let values = match kind {
                "returns" => join(&[&row["return"][0], &row["return"][1]]),
                _ => join(&values),
            };
            format!("{} | {values}", text(&row["entry"]))
        });
        items.insert(kind, rows.collect());
    }
    let of = |key: &str| -> Vec<String> {
        let all = rows(dump, "functions").flat_map(|row| {
            let entry = text(&row["entry"]);
            rows(row, key).map(move |variable| {
                let values: Vec<&Json> =
                    variable.as_array().unwrap().iter().filter(|v| !v.is_null()).collect();
                format!("{entry} | {}", join(&values))
            })
        });
        all.collect()
    };
    items.insert("parameters", of("params"));
    items.insert("locals", of("locals"));
    let tags = rows(dump, "function_tags").flat_map(|row| {
        rows(row, "")
            .chain(row[2].as_array().into_iter().flatten())
            .map(|entry| format!("{} | {}", text(entry), text(&row[0])))
    });
    items.insert("tags of functions", tags.collect());
}

fn data_types(dump: &Json, items: &mut Items) {
    let named = |row: &&Json| row["kind"] != "builtin";
    let list = |of: &dyn Fn(&Json) -> Option<String>| -> Vec<String> {
        let rows = rows(dump, "data_types").filter(named);
        rows.filter_map(|row| Some(format!("{} | {}", text(&row["path"]), of(row)?))).collect()
    };
    items.insert("data types", list(&|row| Some(text(&row["kind"]))));
    items.insert("lengths of types", list(&|row| Some(text(&row["length"]))));
    items.insert("alignments of types", list(&|row| Some(text(&row["align"]))));
    items.insert("types meant", list(&|row| row.get("of").map(text)));
    items.insert("counts of arrays", list(&|row| row.get("count").map(text)));
    let packing = |row: &Json| row.get("packing").map(|p| (p != "DISABLED").to_string());
    items.insert("packing", list(&|row| packing(row).filter(|_| row["kind"] == "structure")));
    let members = |key: &str| -> Vec<String> {
        let all = rows(dump, "data_types").filter(named).flat_map(|row| {
            let path = text(&row["path"]);
            rows(row, key).map(move |member| {
                let values: Vec<&Json> = member.as_array().unwrap().iter().collect();
                format!("{path} | {}", join(&values))
            })
        });
        all.collect()
    };
    items.insert("members", members("fields"));
    items.insert("values of enums", members("values"));
}
