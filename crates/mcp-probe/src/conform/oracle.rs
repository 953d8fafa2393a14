//! Differential test: the check against recorded verdicts of both SDKs on some thousands
//! of answers bent in one place each (`.ci/verdicts/shapes.py` and `shapes.mjs` make them).

use super::{Clients, check_answer};
use crate::json::{self, Json};
use crate::obj;

const RECORDED: &str = include_str!("../../tests/data/shapes.jsonl");

#[test]
fn both_sdks_agree_with_the_check() {
    let (mut whole, mut count) = (Json::Null, 0);
    let mut wrong = Vec::new();
    for line in RECORDED.lines() {
        let row = json::parse(line.as_bytes()).unwrap();
        let result = match row.get("path") {
            None => {
                whole = row.get("result").unwrap().clone();
                whole.clone()
            }
            Some(path) => bent(&whole, path.items(), row.get("value")),
        };
        let (method, version) = (row.text_at("method").unwrap(), row.text_at("version").unwrap());
        let message = obj! { "jsonrpc": "2.0", "id": 1, "result": result };
        let refused = check_answer(method, version, &message)
            .iter()
            .fold(Clients::NONE, |all, fault| all.and(fault.refused_by));
        let takes = |name: &str| row.get(name).and_then(Json::as_bool);
        let python = takes("python") == Some(!refused.python);
        let typescript = takes("typescript").is_none_or(|takes| takes != refused.typescript);
        count += 1;
        if !python || !typescript {
            wrong.push(format!(
                "{} {} {:?} {:?}: {refused:?}",
                method,
                row.get("path").unwrap_or(&Json::Null),
                row.get("value").map(Json::to_string),
                (takes("python"), takes("typescript"))
            ));
        }
    }
    assert!(count > 2000, "{count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

fn bent(whole: &Json, path: &[Json], value: Option<&Json>) -> Json {
    let mut result = whole.clone();
    match (path.split_last(), value) {
        (Some((last, parents)), None) if last.as_str().is_some() => {
            let parent = parents.iter().fold(&mut result, |here, key| step(here, key));
            parent.remove(last.as_str().unwrap());
        }
        (Some((last, parents)), Some(value)) if last.as_str().is_some() => {
            let parent = parents.iter().fold(&mut result, |here, key| step(here, key));
            parent.set(last.as_str().unwrap(), value.clone());
        }
        (Some((last, parents)), value) => {
            let parent = parents.iter().fold(&mut result, |here, key| step(here, key));
            let Json::Array(items) = parent else { panic!("no such place") };
            let at = last.as_i64().unwrap() as usize;
            match value {
                Some(value) => items[at] = value.clone(),
                None => drop(items.remove(at)),
            }
        }
        (None, _) => {}
    }
    result
}

fn step<'a>(here: &'a mut Json, key: &Json) -> &'a mut Json {
    match here {
        Json::Array(items) => &mut items[key.as_i64().unwrap() as usize],
        other => other.get_mut(key.as_str().unwrap()).unwrap(),
    }
}
