//! The format as a whole: what marks a project file, its version, and the views
//! that people query.

use crate::sheet::Sheet;
use crate::tables;
use rusqlite::Connection;

/// Marks a project file among SQLite files.
pub(crate) const APPLICATION_ID: i32 = 0x4742_5250;

/// The version of the format that this program writes.
pub(crate) const VERSION: i64 = 1;

/// What every other table comes to.
pub(crate) const CHECKS: Sheet =
    Sheet { name: "checks", keys: 1, columns: &["name TEXT", "rows INTEGER", "sum INTEGER"] };

/// Views for people: nothing here reads them.
const VIEWS: &str = r#"
CREATE VIEW function_list AS
SELECT printf('%08x', f.entry) AS address,
       coalesce(nullif(s.name, ''), nullif(s1.name, ''), nullif(s2.name, ''),
                CASE WHEN f1.entry IS NOT NULL THEN 'thunk_FUN_' || printf('%08x', f1.entry) END,
                'FUN_' || printf('%08x', f.entry)) AS name,
       (SELECT sum(r.last - r.first + 1) FROM function_ranges r
         WHERE r.space = f.space AND r.entry = f.entry) AS size,
       t.name AS returns,
       (SELECT count(*) FROM parameters p
         WHERE p.space = f.space AND p.entry = f.entry) AS parameters,
       f.no_return, f.space, f.entry
  FROM functions f
  LEFT JOIN symbols s ON s.id = f.symbol
  LEFT JOIN functions f1 ON f1.space = f.thunk_space AND f1.entry = f.thunk_entry
  LEFT JOIN symbols s1 ON s1.id = f1.symbol
  LEFT JOIN functions f2 ON f2.space = f1.thunk_space AND f2.entry = f1.thunk_entry
  LEFT JOIN symbols s2 ON s2.id = f2.symbol
  LEFT JOIN data_types t ON t.id = f.return_type;

CREATE VIEW call_list AS
SELECT printf('%08x', r.from_offset) AS site, c.name AS caller, g.name AS callee,
       r.from_space AS space, r.from_offset AS offset
  FROM "references" r
  JOIN reference_types k ON k.number = r.type AND k.name LIKE '%CALL%'
  JOIN function_list g ON g.space = r.to_space AND g.entry = r.to_offset
  LEFT JOIN function_ranges b ON b.range_space = r.from_space
        AND r.from_offset BETWEEN b.first AND b.last
  LEFT JOIN function_list c ON c.space = b.space AND c.entry = b.entry;

CREATE VIEW reference_list AS
SELECT printf('%08x', r.from_offset) AS "from", printf('%08x', r.to_offset) AS "to",
       k.name AS type, r.operand, r.from_space, r.from_offset, r.to_space, r.to_offset
  FROM "references" r JOIN reference_types k ON k.number = r.type;
"#;

/// Lays out an empty file.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    for sheet in tables::ALL.iter().copied().chain([&CHECKS]) {
        connection.execute_batch(&sheet.create())?;
    }
    connection.execute_batch(VIEWS)
}

/// Whether the tables are laid out as this version makes them, and nothing acts
/// on its own in the file.
pub(crate) fn is_intact(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?")?;
    for sheet in tables::ALL.iter().copied().chain([&CHECKS]) {
        let mut rows = statement.query([sheet.name])?;
        let same = match rows.next()? {
            Some(row) => row.get_ref(0)?.as_str().is_ok_and(|sql| sql == sheet.create()),
            None => false,
        };
        if !same {
            return Ok(false);
        }
    }
    let triggers = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'";
    Ok(connection.query_row(triggers, [], |row| row.get::<_, i64>(0))? == 0)
}
