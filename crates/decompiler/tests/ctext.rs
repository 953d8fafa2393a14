//! The C text of every sample function against what Ghidra printed, given the same facts.

mod facts;

use std::collections::HashMap;
use std::time::Duration;

use decompiler::{Decompiler, Limits};

/// The text with its identifiers numbered as they come: equal texts differ in names at most.
fn without_names(text: &str) -> String {
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut out = String::new();
    let mut word = String::new();
    for character in text.chars().chain(['\n']) {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        if word.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            let next = names.len();
            out.push_str(&format!("n{}", names.entry(word.clone()).or_insert(next)));
        } else {
            out.push_str(&word);
        }
        word.clear();
        if !character.is_whitespace() {
            out.push(character);
        }
    }
    out
}

#[test]
fn c_text_equals_ghidras() {
    let Some(truth) = facts::truth() else { return };
    let only = std::env::var("CTEXT_SAMPLE").ok();
    let show: usize = std::env::var("CTEXT_SHOW").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let decompiler = Decompiler::new();
    let limits = Limits { timeout: Duration::from_secs(120), ..Limits::default() };
    let (mut all, mut equal, mut alike, mut failed) = (0, 0, 0, 0);
    let mut shown = 0;
    for sample in facts::samples(&truth) {
        if only.as_ref().is_some_and(|only| !sample.contains(only.as_str())) {
            continue;
        }
        // The static sample is two thirds of all functions; it has a test of its own size.
        if only.is_none() && sample.contains("static") {
            continue;
        }
        let language = facts::language(&sample);
        let program = facts::program(&truth, &sample, &language);
        let decompiled = facts::json(&truth, &sample, "decomp");
        let (mut n, mut same, mut near, mut bad) = (0, 0, 0, 0);
        let start = std::time::Instant::now();
        for function in decompiled.as_array().unwrap() {
            let want = function["c"].as_str().unwrap_or("");
            let Some(entry) = facts::address(function["entry"].as_str().unwrap()) else { continue };
            if function["completed"] != true || want.is_empty() {
                continue;
            }
            n += 1;
            let got = decompiler.decompile(&program, entry, &limits, &facts::never());
            let joined: String = got.tokens.iter().map(|token| token.text.as_str()).collect();
            assert_eq!(joined, got.c);
            if !got.completed {
                bad += 1;
                println!("{sample} {entry:x?}: {:?}", got.warnings);
            } else if got.c.trim() == want.trim() {
                same += 1;
                near += 1;
            } else if without_names(&got.c) == without_names(want) {
                near += 1;
                if shown < show {
                    shown += 1;
                    println!("--- names {sample} {}", function["name"]);
                }
            } else if shown < show {
                shown += 1;
                println!("--- {sample} {}\n{want}\n+++\n{}", function["name"], got.c);
            }
        }
        println!(
            "{sample}: {n} functions, {same} equal, {near} but for names, {bad} failed, {:?}",
            start.elapsed()
        );
        all += n;
        equal += same;
        alike += near;
        failed += bad;
    }
    println!("total: {all} functions, {equal} equal, {alike} but for names, {failed} failed");
    if only.is_none() {
        // Shares that were reached; they only rise.
        assert!(equal * 100 >= all * 90, "fewer texts are equal");
        assert!(alike * 100 >= all * 92, "fewer texts are equal but for names");
        assert!(failed <= 1, "more functions fail");
    }
}
