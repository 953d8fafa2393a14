//! The head of exported C: plain types by size, the program's own types in an order in which each
//! is known before it is used, and prototypes.

use super::c_types::{c_name, declaration, described};
use super::program::{Program, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Write;

/// Names of the decompiler for plain types.
const PLAIN: &[(&str, &str)] = &[
    ("sqword", "long long"),
    ("undefined", "unsigned char"),
    ("undefined1", "unsigned char"),
    ("undefined2", "unsigned short"),
    ("undefined4", "unsigned int"),
    ("undefined8", "unsigned long long"),
    ("byte", "unsigned char"),
    ("sbyte", "signed char"),
    ("word", "unsigned short"),
    ("dword", "unsigned int"),
    ("qword", "unsigned long long"),
    ("uchar", "unsigned char"),
    ("ushort", "unsigned short"),
    ("uint", "unsigned int"),
    ("ulong", "unsigned long"),
    ("longlong", "long long"),
    ("ulonglong", "unsigned long long"),
    ("bool", "_Bool"),
    ("wchar16", "unsigned short"),
    ("wchar32", "unsigned int"),
    ("code", "void"),
];

/// Plain types that C knows, and texts, which are arrays of characters in it.
const OF_C: [&str; 8] = ["char", "short", "int", "long", "float", "double", "void", "string"];

/// The types of a program as C. Text to read: not every program's compiles.
pub fn types(program: &Program) -> anyhow::Result<String> {
    let about = program.call("program.get", json!({}))?;
    let mut out = format!(
        "/* {}, {}, sha256 {}\n * by ghidra-bridge {}; written to be read, and not meant to compile everywhere */\n\n",
        text(&about, "name").replace("*/", "* /"),
        text(&about, "language_id"),
        text(&about, "sha256"),
        env!("CARGO_PKG_VERSION"),
    );
    let rows = described(program, json!({}))?;
    let own: Vec<&Value> = distinct(&rows);
    let names: HashSet<String> = own.iter().map(|row| text(row, "name").to_owned()).collect();
    for (name, plain) in PLAIN.iter().filter(|(name, _)| !names.contains(*name)) {
        let _ = writeln!(out, "typedef {plain} {name};");
    }
    out.push_str(&other_plain(program)?);
    out.push('\n');
    out.push_str(&undescribed(&own, &out));
    for row in &own {
        if let kind @ ("struct" | "union" | "enum") = text(row, "kind") {
            let name = c_name(text(row, "name"));
            let _ = writeln!(out, "typedef {kind} {name} {name};");
        }
    }
    for row in in_order(&own) {
        if let Some(declaration) = declaration(row) {
            let _ = write!(out, "\n{declaration}\n");
        }
    }
    Ok(out)
}

/// Built-in types of other names, by their size.
fn other_plain(program: &Program) -> anyhow::Result<String> {
    let mut out = String::new();
    for row in program.all("data_type.list", json!({ "filter": { "kind": "builtin" } }))? {
        let name = text(&row, "name");
        let is_known = OF_C.contains(&name) || PLAIN.iter().any(|(known, _)| *known == name);
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let plain = match row["length"].as_u64() {
            Some(1) => "unsigned char",
            Some(2) => "unsigned short",
            Some(4) => "unsigned int",
            Some(8) => "unsigned long long",
            _ => continue,
        };
        if !is_known && is_name {
            let _ = writeln!(out, "typedef {plain} {name};");
        }
    }
    Ok(out)
}

/// Types that others name and nobody describes: opaque, and as long as the member that has them.
fn undescribed(own: &[&Value], plain: &str) -> String {
    let names: HashSet<&str> = own.iter().map(|row| text(row, "name")).collect();
    let is_plain = |name: &str| OF_C.contains(&name) || plain.contains(&format!(" {name};\n"));
    let mut lengths: BTreeMap<String, u64> = BTreeMap::new();
    for row in own {
        for name in held(row, true) {
            lengths.entry(name).or_default();
        }
        for field in row["fields"].as_array().into_iter().flatten() {
            if let (Some(name), Some(length)) =
                (base(&field["data_type"], false), field["length"].as_u64())
            {
                lengths.insert(name, length);
            }
        }
    }
    lengths.retain(|name, _| !names.contains(&**name) && !is_plain(name));
    let mut out = String::new();
    for (name, length) in lengths {
        let name = c_name(&name);
        let _ = match length {
            0 => writeln!(out, "typedef struct {name} {name};"),
            _ => writeln!(out, "typedef struct {{ undefined1 bytes[{length}]; }} {name};"),
        };
    }
    out
}

/// Each name once: C has no categories. Types of functions count only where others point to
/// them; the rest describe functions that have prototypes.
fn distinct(rows: &[Value]) -> Vec<&Value> {
    let needed: HashSet<String> = rows.iter().flat_map(|row| held(row, true)).collect();
    let mut seen = HashSet::new();
    let counts =
        |row: &&Value| text(row, "kind") != "function" || needed.contains(text(row, "name"));
    rows.iter().filter(counts).filter(|row| seen.insert(text(row, "name"))).collect()
}

/// Types behind those that they hold by value. What goes round in a circle keeps its order.
fn in_order<'v>(rows: &[&'v Value]) -> Vec<&'v Value> {
    let index: HashMap<String, usize> =
        rows.iter().enumerate().map(|(at, row)| (text(row, "name").to_owned(), at)).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut waits = vec![0usize; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        let needed: HashSet<usize> = held(row, false)
            .iter()
            .filter_map(|name| index.get(name))
            .copied()
            .filter(|other| *other != at)
            .collect();
        waits[at] = needed.len();
        needed.into_iter().for_each(|other| users[other].push(at));
    }
    let mut ready: VecDeque<usize> = (0..rows.len()).filter(|at| waits[*at] == 0).collect();
    let mut out = Vec::with_capacity(rows.len());
    let mut placed = vec![false; rows.len()];
    while let Some(at) = ready.pop_front() {
        placed[at] = true;
        out.push(rows[at]);
        for &user in &users[at] {
            waits[user] -= 1;
            if waits[user] == 0 {
                ready.push_back(user);
            }
        }
    }
    out.extend((0..rows.len()).filter(|at| !placed[*at]).map(|at| rows[at]));
    out
}

/// The names of the types that a type needs before it, or of all that it names.
fn held(row: &Value, through_pointers: bool) -> Vec<String> {
    let fields = row["fields"].as_array().into_iter().flatten().map(|field| &field["data_type"]);
    let mut needed: Vec<String> =
        fields.filter_map(|data_type| base(data_type, through_pointers)).collect();
    let signature = &row["signature"];
    let parameters = signature["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.map(|parameter| &parameter["data_type"]);
    // A typedef has no name to declare in advance, so pointers to it need it as well.
    let spelled = parameters.chain([&signature["return_type"], &row["base_type"]]);
    needed.extend(spelled.filter_map(|data_type| base(data_type, true)));
    needed
}

/// The named type inside of arrays, and of pointers when those count.
fn base(data_type: &Value, through_pointers: bool) -> Option<String> {
    let mut data_type = data_type;
    loop {
        data_type = match text(data_type, "kind") {
            "array" => &data_type["element"],
            "pointer" if through_pointers => &data_type["target"],
            "named" => {
                let name = text(data_type, "name");
                return Some(name.rsplit('/').next().unwrap_or(name).to_owned());
            }
            _ => return None,
        };
    }
}

/// The prototype in front of a function's body.
pub fn prototype(c: &str) -> String {
    let mut out = String::new();
    let mut in_comment = false;
    for line in c.lines() {
        let line = line.trim();
        if in_comment || line.starts_with("/*") {
            in_comment = !line.ends_with("*/");
            continue;
        }
        if line.starts_with('{') {
            break;
        }
        if !line.is_empty() && !line.starts_with("//") {
            out.push_str(if out.is_empty() { "" } else { " " });
            out.push_str(line);
        }
    }
    if out.is_empty() { out } else { format!("{out};\n") }
}

#[cfg(test)]
mod tests {
    use super::prototype;

    #[test]
    fn comments_stay_out_of_prototypes() {
        let c = "/* WARNING: one\n   two */\n\nint main(int argc,\n         char **argv)\n\n{\n  return 0;\n}";
        assert_eq!(prototype(c), "int main(int argc, char **argv);\n");
        assert_eq!(prototype(""), "");
    }
}
