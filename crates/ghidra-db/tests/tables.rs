//! Every table of real projects, compared with what Ghidra itself says is in them.

use ghidra_db::{Database, FieldType, Packed, Project, Record, Table, Value};
use serde_json::{Value as Json, json};
use testkit::projects::Projects;

fn field(field: &FieldType) -> &'static str {
    match field {
        FieldType::Byte => "ByteField",
        FieldType::Short => "ShortField",
        FieldType::Int => "IntField",
        FieldType::Long => "LongField",
        FieldType::Text => "StringField",
        FieldType::Binary => "BinaryField",
        FieldType::Boolean => "BooleanField",
        FieldType::Fixed10 => "FixedField10",
        FieldType::Index(_) => "IndexField",
    }
}

fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Text(text) => json!(text),
        Value::Boolean(value) => json!(value),
        Value::Binary(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!(format!("hex:{hex}"))
        }
        number => json!(number.number().expect("tables have no other values")),
    }
}

fn describe(database: &Database, table: &Table) -> Json {
    let schema = &table.schema;
    let columns = schema.columns.iter();
    let columns: Vec<_> = columns.map(|c| json!([c.name, field(&c.field), c.sparse])).collect();
    let indexed = table.indexed.iter().map(|&column| json!(schema.columns[column].name));
    let records = database.read(table).unwrap_or_else(|error| panic!("{error}"));
    let row = |record: &Record| -> Json {
        [&record.key].into_iter().chain(&record.values).map(value).collect()
    };
    let mut table_json = json!({
        "name": table.name,
        "version": schema.version,
        "key": [schema.key_name, field(&schema.key)],
        "columns": columns,
        "indexed": indexed.collect::<Vec<_>>(),
        "records": table.record_count,
    });
    if schema.key == FieldType::Long {
        table_json["max_key"] = json!(table.max_key);
    }
    table_json["rows"] = records.iter().map(row).collect();
    table_json
}

/// Compares every table with a dump, and every index with its table.
fn compare(name: &str, database: &Database, dump: &Json) {
    assert!(database.unreadable().is_empty(), "{name}: {:?}", database.unreadable());
    assert!(!database.is_truncated(), "{name}");
    let mut tables: Vec<&Table> = database.tables().iter().collect();
    tables.sort_by_key(|table| table.name.encode_utf16().collect::<Vec<_>>());
    let expected = dump["tables"].as_array().unwrap();
    assert_eq!(tables.len(), expected.len(), "{name}: tables");
    for (table, expected) in tables.into_iter().zip(expected) {
        let found = describe(database, table);
        let mut expected = expected.clone();
        let sort = |list: &mut Json| {
            list.as_array_mut().unwrap().sort_by_key(ToString::to_string);
        };
        let mut found = found;
        sort(&mut found["indexed"]);
        sort(&mut expected["indexed"]);
        for key in ["name", "version", "key", "columns", "indexed", "records", "max_key"] {
            assert_eq!(found[key], expected[key], "{name}: {key} of {}", table.name);
        }
        let rows = |json: &Json| json["rows"].as_array().unwrap().clone();
        for (index, (found, expected)) in rows(&found).iter().zip(rows(&expected)).enumerate() {
            assert_eq!(found, &expected, "{name}: row {index} of {}", table.name);
        }
        assert_eq!(rows(&found).len(), rows(&expected).len(), "{name}: rows of {}", table.name);
    }
    for index in database.indexes() {
        let table = database.table(&index.name).expect("an index has its table");
        let column = index.indexed[0];
        let mut of_table: Vec<_> = database
            .read(table)
            .unwrap()
            .iter()
            .map(|record| format!("{:?}", (cut(&record.values[column]), &record.key)))
            .collect();
        let mut of_index: Vec<_> = database
            .read(index)
            .unwrap()
            .iter()
            .map(|record| {
                let Value::Index(parts) = &record.key else { panic!("{:?}", record.key) };
                format!("{:?}", (&parts.0, &parts.1))
            })
            .collect();
        // A sparse column has entries only where the value is.
        of_table
            .retain(|entry| !(table.schema.columns[column].sparse && entry.starts_with("(Null")));
        of_table.sort();
        of_index.sort();
        assert_eq!(of_index, of_table, "{name}: index {column} of {}", table.name);
    }
}

/// Long text is cut off in an index.
fn cut(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.len() + 4 >= 64 => {
            Value::Text(String::from_utf8_lossy(&text.as_bytes()[..60]).into_owned())
        }
        other => other.clone(),
    }
}

#[test]
fn tables_of_packed_files_are_what_ghidra_says() {
    let Some(projects) = Projects::find("tables_of_packed_files") else { return };
    for name in projects.names().unwrap() {
        let packed = Packed::read(&projects.packed(&name)).unwrap();
        assert_eq!(packed.content_type, "Program");
        let database = Database::parse(packed.content).unwrap();
        compare(&name, &database, &projects.dump(&name, "db.json.xz").unwrap());
    }
}

#[test]
fn tables_in_project_folders_are_what_ghidra_says() {
    let Some(projects) = Projects::find("tables_in_project_folders") else { return };
    for name in projects.unpackable().unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let file = projects.unpack(&name, folder.path()).unwrap();
        let project = Project::open(&file).unwrap();
        assert_eq!(project.owner.as_deref(), Some("analyst"));
        assert_eq!((project.locked, &*project.problems), (false, &[][..]));
        let paths: Vec<_> = project.programs().map(|item| item.path.clone()).collect();
        assert_eq!(paths, [format!("/{name}")]);
        let opened = project.find(&name).unwrap().open(None).unwrap();
        compare(&name, &opened.database, &projects.dump(&name, "db.json.xz").unwrap());
    }
}
