//! From the configuration to an open session.

use anyhow::Context;
use engine::{Format, LoadOptions, OpenOptions, ProjectChoice, Session};
use etcetera::BaseStrategy;
use server::config::{Config, LoaderChoice, ProjectPlace};

/// What a client reads when there is no file, for the person who set it up.
pub const HOW_TO_NAME_A_FILE: &str = "write its path after stdio in the command that starts the bridge \
     (ghidra-bridge stdio FILE, in MCP settings \"args\": [\"stdio\", \"/path/of/FILE\"]) and start it again";

/// What follows the reason why the file that was named cannot be opened.
pub const HOW_TO_MEND_THE_PATH: &str = "mend the path after stdio in the command that starts the bridge (an absolute \
     path, in MCP settings \"args\": [\"stdio\", \"/path/of/FILE\"]) and start it again";

/// A session without a program.
pub fn nothing() -> anyhow::Result<Session> {
    Session::empty().context("the empty session cannot be made")
}

/// Opens the file, without analysing it: from its project when it has one. Without a file
/// there is an empty session.
pub fn open(config: &Config) -> anyhow::Result<Session> {
    let opening = &config.opening;
    let Some(file) = &opening.file else {
        return nothing();
    };
    let (language, compiler_spec) = opening.language.as_deref().map(split_language).unzip();
    let load = LoadOptions {
        language,
        compiler_spec: compiler_spec.flatten(),
        base: opening.base,
        format: match opening.loader {
            LoaderChoice::Auto => Format::Auto,
            LoaderChoice::Elf => Format::Elf,
            LoaderChoice::Pe => Format::Pe,
            LoaderChoice::Coff => Format::Coff,
            LoaderChoice::Macho => Format::MachO,
            LoaderChoice::Raw => Format::Raw,
            LoaderChoice::IntelHex => Format::IntelHex,
            LoaderChoice::SRecord => Format::SRecord,
            LoaderChoice::Archive => Format::Archive,
        },
        member: opening.member.clone(),
    };
    let project = match &opening.project {
        ProjectPlace::None => ProjectChoice::None,
        ProjectPlace::File(file) => ProjectChoice::File(file.clone()),
        ProjectPlace::Default => default_folder(),
    };
    let (pdb, read_only) = (opening.pdb.clone(), config.read_only);
    Ok(Session::open(file, &OpenOptions { load, pdb, project, read_only })?)
}

/// A language id, and the compiler specification that may follow it as a fifth part.
fn split_language(text: &str) -> (String, Option<String>) {
    match text.rsplit_once(':') {
        Some((language, compiler)) if language.split(':').count() == 4 => {
            (language.to_owned(), Some(compiler.to_owned()))
        }
        _ => (text.to_owned(), None),
    }
}

/// Where projects are kept when nobody says where.
fn default_folder() -> ProjectChoice {
    match etcetera::choose_base_strategy() {
        Ok(user) => ProjectChoice::Folder(user.data_dir().join("ghidra-bridge").join("projects")),
        Err(_) => {
            crate::say(
                "No home folder is known, so edits are not kept; name a file with project=.",
            );
            ProjectChoice::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_language;

    #[test]
    fn a_compiler_may_follow_the_language() {
        let split = |text| {
            let (language, compiler) = split_language(text);
            (language, compiler.unwrap_or_default())
        };
        let x64 = "x86:LE:64:default".to_owned();
        assert_eq!(split("x86:LE:64:default"), (x64.clone(), String::new()));
        assert_eq!(split("x86:LE:64:default:windows"), (x64, "windows".to_owned()));
        assert_eq!(split("a:b:c:d:e:f").0, "a:b:c:d:e:f", "nothing is guessed");
    }
}
