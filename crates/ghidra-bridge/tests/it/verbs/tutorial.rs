//! The tutorial, command by command: each prints what the page shows.

use super::fixture;
use crate::world::program;
use std::path::Path;
use std::process::Command;

/// A command of the page, and the lines that it shows.
struct Step {
    command: String,
    shown: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    steps.push(Step { command: command.to_owned(), shown: Vec::new() })
                }
                (None, Some(step)) => step.shown.push(line.to_owned()),
                (None, None) => panic!("{line}: output without a command"),
            },
            (false, _) => {}
        }
    }
    steps
}

/// Whether the lines are those shown; `...` stands for any number of them.
fn agree(printed: &[&str], shown: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=printed.len()).any(|skipped| agree(&printed[skipped..], rest))
        }
        Some((first, rest)) => {
            printed.first() == Some(&first.as_str()) && agree(&printed[1..], rest)
        }
    }
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn every_command_prints_what_the_page_shows() {
    follow("docs/tutorial.md", 10);
    follow("README.md", 3);
    let shown =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.svg"));
    assert!(shown.expect("the picture of README.md").contains("FUN_00101280"));
}

/// Runs the commands of a page, beside the puzzle.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn follow(page: &str, least: usize) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let mut steps = steps(&std::fs::read_to_string(page).expect("the page"));
    steps.retain(|step| !step.command.starts_with("cargo ") && !step.command.starts_with("cd "));
    assert!(steps.len() >= least, "{}", steps.len());
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(fixture("agents/crackme"), folder.path().join("crackme")).expect("a copy");
    let has_python = Command::new("python3").arg("-V").output().is_ok();
    let programs = program().parent().expect("a folder").to_str().expect("a name");
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    for step in steps {
        if step.command.starts_with("python3 ") && !has_python {
            println!("skipped: {}", step.command);
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("XDG_DATA_HOME", folder.path())
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}: {errors}", step.command);
        let text = String::from_utf8(output.stdout).expect("text");
        let printed: Vec<&str> = text.lines().collect();
        assert!(
            agree(&printed, &step.shown),
            "{}:\n{text}\nis not\n{}",
            step.command,
            step.shown.join("\n")
        );
    }
    let picture = std::fs::read_to_string(folder.path().join("check.svg")).expect("a picture");
    assert!(picture.starts_with("<svg "));
}
