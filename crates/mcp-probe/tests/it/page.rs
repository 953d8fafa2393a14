//! The report as a page, looked at in a browser: a headless Chromium, if there is one.

use crate::harness::{against, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const BROWSERS: [&str; 4] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// Added to a copy of the page: what the browser made of it, as text it can dump.
const LOOK: &str = r#"<script>
const all = what => [...document.querySelectorAll(what)];
const seen = {
  tools: all("details.tool").map(tool => tool.querySelector("summary code").textContent),
  risks: all("details.tool summary .tag.high").map(tag => tag.textContent),
  headings: all("h2").map(heading => heading.textContent),
  closed: all("details.tool .about").filter(about => about.checkVisibility()).length,
};
all("details").forEach(details => { details.open = true; });
seen.open = all("details.tool .about").filter(about => about.checkVisibility()).length;
seen.width = [document.documentElement.scrollWidth, window.innerWidth];
seen.bars = all(".times div").map(bar => bar.getBoundingClientRect().width);
seen.loaded = performance.getEntriesByType("resource").length;
const note = document.createElement("pre");
note.id = "seen";
note.textContent = "SEEN" + JSON.stringify(seen) + "SEEN";
document.body.append(note);
</script>"#;

fn browser() -> Option<&'static str> {
    let works = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = BROWSERS.into_iter().find(works);
    if found.is_none() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "a Chromium is needed");
        println!("skipped: no Chromium");
    }
    found
}

fn look(browser: &str, dir: &Path, width: usize) -> Value {
    let ran = run(Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", dir.join("browser").display()))
        .arg(format!("--window-size={width},900"))
        .arg(format!("file://{}", dir.join("page.html").display())));
    let text = ran.out.split("SEEN").filter(|part| part.starts_with('{')).last();
    let text = text.unwrap_or_else(|| panic!("{}{}", ran.out, ran.err));
    serde_json::from_str(&text.replace("&amp;", "&")).unwrap()
}

#[test]
fn a_browser_shows_all_of_it() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = against("risky", &["report", "--html"]).out;
    assert!(page.contains("</body>"));
    let watched = page.replace("</body>", &format!("{LOOK}</body>"));
    std::fs::write(dir.path().join("page.html"), watched).unwrap();
    for width in [1100, 420] {
        let seen = look(browser, dir.path(), width);
        let tools = ["run_shell", "read_any_file", "write_file", "fetch", "query", "joke"];
        let both: Vec<&str> = [tools, tools].concat();
        assert_eq!(seen["tools"], serde_json::json!(both), "{seen}");
        assert_eq!(seen["headings"].as_array().unwrap().len(), 2, "{seen}");
        assert_eq!(seen["risks"].as_array().unwrap().len(), 8, "{seen}");
        assert_eq!((&seen["closed"], &seen["open"]), (&0.into(), &12.into()), "{seen}");
        let (wide, window) = (seen["width"][0].as_u64(), seen["width"][1].as_u64());
        assert!(wide <= window, "nothing sticks out at {width}: {seen}");
        assert!(
            seen["bars"].as_array().unwrap().iter().all(|bar| bar.as_f64() > Some(0.5)),
            "{seen}"
        );
        assert_eq!(seen["loaded"], 0, "{seen}");
    }
}
