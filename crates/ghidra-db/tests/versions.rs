//! Versions of a database and the folders of a project, on files made here.

use std::path::Path;

use ghidra_db::{Database, Error, Project, Value};

const BUFFER: usize = 507;

/// A buffer file of the buffers given, with numbers in its header.
fn file(id: i64, parameters: &[(&str, i32)], buffers: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0x2f30_312c_3429_2c2a_i64.to_be_bytes());
    file.extend(id.to_be_bytes());
    file.extend(1_i32.to_be_bytes());
    file.extend((BUFFER as i32 + 5).to_be_bytes());
    file.extend((-1_i32).to_be_bytes());
    file.extend((parameters.len() as i32).to_be_bytes());
    for (name, value) in parameters {
        file.extend((name.len() as i32).to_be_bytes());
        file.extend(name.as_bytes());
        file.extend(value.to_be_bytes());
    }
    file.resize(BUFFER + 5, 0);
    for (index, buffer) in buffers.iter().enumerate() {
        file.push(0);
        file.extend((index as i32).to_be_bytes());
        file.extend(buffer);
        file.resize((BUFFER + 5) * (index + 2), 0);
    }
    file
}

fn numbers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// A leaf with long keys and records of any length.
fn leaf(records: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut buffer = vec![1];
    buffer.extend(numbers(&[records.len() as i32, -1, -1]));
    let mut end = BUFFER;
    let mut places = Vec::new();
    for (key, record) in records {
        end -= record.len();
        places.push((end, record));
        buffer.extend(key.to_be_bytes());
        buffer.extend((end as i32).to_be_bytes());
        buffer.push(0);
    }
    buffer.resize(BUFFER, 0);
    for (at, record) in places {
        buffer[at..at + record.len()].copy_from_slice(record);
    }
    buffer
}

fn text(text: &str) -> Vec<u8> {
    [numbers(&[text.len() as i32]), text.as_bytes().to_vec()].concat()
}

/// The master table's record of a table with one column of text.
fn table(name: &str, root: i32) -> Vec<u8> {
    let mut record = text(name);
    record.extend(numbers(&[7, root]));
    record.push(3);
    record.extend(numbers(&[1]));
    record.push(4);
    record.extend(text("Key;Text;"));
    record.extend(numbers(&[-1]));
    record.extend(9_i64.to_be_bytes());
    record.extend(numbers(&[1]));
    record
}

fn parameters() -> Vec<u8> {
    [vec![9], numbers(&[13]), vec![1], numbers(&[1, 0, 77])].concat()
}

fn database(id: i64, word: &str) -> Vec<u8> {
    let master = leaf(&[(0, table("Words", 2))]);
    file(id, &[], &[parameters(), master, leaf(&[(5, text(word))])])
}

/// The step back from `target` to `original`, whose buffer 2 was another.
fn step(original: i64, target: i64, word: &str) -> Vec<u8> {
    let map = numbers(&[-1, 2, 1, -1]);
    let free = numbers(&[-1, -1]);
    let parameters = [
        ("~VF.VersionFile", 0x382d_3435),
        ("~VF.OriginalIdHi", (original >> 32) as i32),
        ("~VF.OriginalIdLow", original as i32),
        ("~VF.TargetIdHi", (target >> 32) as i32),
        ("~VF.TargetIdLow", target as i32),
        ("~VF.OrigBufCnt", 3),
        ("~VF.MapIndex", 0),
        ("~VF.FreeListIndex", 2),
        ("~VF.FreeListSize", 0),
    ];
    file(0, &parameters, &[map, leaf(&[(5, text(word))]), free])
}

fn words(database: &Database) -> Vec<String> {
    let table = database.table("Words").unwrap();
    assert_eq!((table.schema.version, table.max_key), (7, 9));
    let records = database.read(table).unwrap();
    records.iter().map(|record| record.text(0).unwrap().to_owned()).collect()
}

#[test]
fn a_database_made_by_hand_is_read() {
    let database = Database::parse(database(1, "new")).unwrap();
    assert_eq!((words(&database), database.id), (vec!["new".to_owned()], 77));
    let record = &database.read(&database.tables()[0]).unwrap()[0];
    assert_eq!(record.key, Value::Long(5));
}

#[test]
fn version_files_lead_back_step_by_step() {
    let (newest, steps) = (database(30, "new"), [step(10, 20, "old"), step(20, 30, "newer")]);
    let back = |steps: &[Vec<u8>]| Database::parse_older(newest.clone(), steps.to_vec());
    assert_eq!(words(&back(&steps).unwrap()), ["old"]);
    assert_eq!(words(&back(&steps[1..]).unwrap()), ["newer"]);
    assert!(back(&steps[..1]).is_err(), "the last step leads to another file");
    assert!(back(std::slice::from_ref(&newest)).is_err(), "that is no version file");
}

#[test]
fn what_leads_round_in_circles_is_refused_by_name() {
    let mut master = vec![0];
    master.extend(numbers(&[1]));
    master.extend(0_i64.to_be_bytes());
    master.extend(numbers(&[1]));
    let error = Database::parse(file(1, &[], &[parameters(), master])).unwrap_err();
    assert_eq!(error.to_string(), "table \"MASTER\": buffer 1: the table leads to it twice");
    let broken = file(1, &[], &[parameters(), leaf(&[(0, table("Words", 9))])]);
    let database = Database::parse(broken).unwrap();
    let error = database.read(&database.tables()[0]).unwrap_err();
    assert_eq!(error.to_string(), "table \"Words\": buffer 9: the file has no such buffer");
}

#[test]
fn tables_with_unknown_columns_are_named_and_left_out() {
    let mut odd = table("Odd", 2);
    let at = odd.windows(5).position(|part| part == [0, 0, 0, 1, 4]).unwrap();
    odd[at + 4] = 0x0e;
    let master = leaf(&[(0, odd), (1, table("Words", 2))]);
    let file = file(1, &[], &[parameters(), master, leaf(&[(5, text("here"))])]);
    let database = Database::parse(file).unwrap();
    assert_eq!(words(&database), ["here"]);
    let odd = &database.unreadable()[0];
    assert_eq!(odd.name, "Odd");
    assert_eq!(odd.error, "table \"Odd\": schema: field type 0x0e is unknown");
}

fn item(part: &Path, number: &str, name: &str, more: &str, files: &[(&str, Vec<u8>)]) {
    let bucket = part.join("00");
    let folder = bucket.join(format!("~{number}.db"));
    std::fs::create_dir_all(&folder).unwrap();
    let properties = format!(
        "<?xml version=\"1.0\"?><FILE_INFO><BASIC_INFO>\
         <STATE NAME=\"CONTENT_TYPE\" TYPE=\"string\" VALUE=\"Program\" />\
         <STATE NAME=\"PARENT\" TYPE=\"string\" VALUE=\"/some folder\" />\
         <STATE NAME=\"NAME\" TYPE=\"string\" VALUE=\"{name}\" />{more}</BASIC_INFO></FILE_INFO>"
    );
    std::fs::write(bucket.join(format!("{number}.prp")), properties).unwrap();
    for (file, bytes) in files {
        std::fs::write(folder.join(file), bytes).unwrap();
    }
}

/// A project with a file under version control that is checked out, one that is not, a private
/// one, and what is no item.
fn project(place: &Path) {
    let folder = place.join("work.rep");
    std::fs::write(place.join("work.gpr"), "").unwrap();
    let versioned = [
        ("db.3.gbf", database(30, "newest")),
        ("ver.2.gbf", step(20, 30, "second")),
        ("ver.1.gbf", step(10, 20, "first")),
        ("change.1.gbf", Vec::new()),
    ];
    item(&folder.join("versioned"), "00000000", "shared", "", &versioned);
    item(&folder.join("versioned"), "00000001", "other", "", &versioned[..2]);
    let checkout = "<STATE NAME=\"CHECKOUT_ID\" TYPE=\"long\" VALUE=\"4\" />\
                    <STATE NAME=\"CHECKOUT_VERSION\" TYPE=\"int\" VALUE=\"2\" />";
    let private = [("db.1.gbf", database(1, "stale")), ("db.2.gbf", database(2, "in work"))];
    item(&folder.join("idata"), "00000000", "shared", checkout, &private);
    item(&folder.join("idata"), "00000001", "a &lt;private&gt; one", "", &private);
    std::fs::write(folder.join("idata/~index.dat"), "VERSION=1\n").unwrap();
    std::fs::write(folder.join("idata/00/00000009.prp"), "no XML").unwrap();
}

#[test]
fn files_of_a_project_are_those_that_its_user_sees() {
    let place = tempfile::tempdir().unwrap();
    project(place.path());
    for path in ["work.gpr", "work.rep"] {
        let project = Project::open(&place.path().join(path)).unwrap();
        let paths: Vec<_> = project.programs().map(|item| &*item.path).collect();
        let expected =
            ["/some folder/a <private> one", "/some folder/other", "/some folder/shared"];
        assert_eq!(paths, expected);
        assert_eq!((project.problems.len(), project.locked), (1, false));
        let shared = project.find("some folder/shared").unwrap();
        assert_eq!((shared.checked_out, shared.versions()), (Some(2), Some(1..=3)));
        let read = |version| words(&shared.open(version).unwrap().database);
        assert_eq!(read(None), ["in work"]);
        assert_eq!(read(Some(3)), ["newest"]);
        assert_eq!(read(Some(2)), ["second"]);
        assert_eq!(read(Some(1)), ["first"]);
        let error = shared.open(Some(4)).unwrap_err();
        let said = "Ghidra project /some folder/shared: version 4 is not there (versions: 1 to 3)";
        assert_eq!(error.to_string(), said);
        let other = project.find("/some folder/other").unwrap();
        assert_eq!((other.versions(), other.checked_out), (Some(2..=3), None));
        assert_eq!(words(&other.open(None).unwrap().database), ["newest"]);
    }
}

#[test]
fn a_project_that_ghidra_has_open_is_read_and_left_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    project(place.path());
    let lock = place.path().join("work.lock");
    std::fs::write(&lock, "held").unwrap();
    let project = Project::open(&place.path().join("work.gpr")).unwrap();
    assert!(project.locked);
    assert_eq!(words(&project.items[0].open(None).unwrap().database), ["in work"]);
    assert_eq!(std::fs::read(&lock).unwrap(), b"held");
    assert!(matches!(Project::open(&place.path().join("none.gpr")), Err(Error::Project { .. })));
}
