//! Command-line words: `key=value`, `--key value` and `--key=value`, each key
//! once. The first word may be the file.

use super::{Command, ConfigError, keys};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The words of one command, taken apart. Blank values count as absent.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub file: Option<PathBuf>,
    values: BTreeMap<String, String>,
}

impl Words {
    pub fn read(command: Command, words: &[String]) -> Result<Words, ConfigError> {
        let mut out = Words::default();
        let mut rest = words.iter().map(|word| word.trim()).filter(|word| !word.is_empty());
        let mut first = true;
        while let Some(word) = rest.next() {
            if std::mem::take(&mut first) && is_file(word) {
                out.file = Some(PathBuf::from(word));
                continue;
            }
            let (name, value) = match word.strip_prefix("--") {
                Some(option) => option_word(option, &mut rest)?,
                None => plain_word(word).map_err(|error| out.misplaced(command, word, error))?,
            };
            let name = keys::spelling(command, name);
            if out.values.insert(name.clone(), value).is_some() {
                return Err(ConfigError::new(format!("{name} is given twice; give it once")));
            }
        }
        out.refuse_unknown(command)?;
        out.values.retain(|_, value| !value.is_empty());
        Ok(out)
    }

    /// What is wrong with a word that may be a file.
    fn misplaced(&self, command: Command, word: &str, error: ConfigError) -> ConfigError {
        if word.contains('=') {
            return error;
        }
        ConfigError::new(match &self.file {
            Some(file) => format!(
                "only one file is opened at a time, and {} is named already; after it write key=value, not {word:?}",
                file.display()
            ),
            None => format!(
                "the file comes first, before every key=value: ghidra-bridge {} {word} ...",
                command.name()
            ),
        })
    }

    fn refuse_unknown(&self, command: Command) -> Result<(), ConfigError> {
        for name in self.values.keys() {
            if name == "jar" {
                return Err(ConfigError::new(
                    "jar is refused: this bridge has its own engine and loads no Java archive",
                ));
            }
            if keys::find(name).is_some_and(|key| key.belongs_to(command)) {
                continue;
            }
            let known: Vec<&str> = keys::KEYS
                .iter()
                .filter(|key| key.belongs_to(command))
                .map(|key| key.name)
                .collect();
            let hint = match keys::other_spelling(command, name) {
                Some(hint) => hint.to_owned(),
                None => match api::nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("it takes {}", known.join(", ")),
                },
            };
            return Err(ConfigError::new(format!(
                "{name} is not an argument of {}; {hint}",
                command.name()
            )));
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

/// The first word is a file unless it names a key: paths may hold a `=`.
fn is_file(word: &str) -> bool {
    if word.starts_with("--") {
        return false;
    }
    match word.split_once('=') {
        None => true,
        Some((name, _)) => name != "jar" && keys::find(name).is_none(),
    }
}

fn plain_word(word: &str) -> Result<(String, String), ConfigError> {
    match word.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(ConfigError::new(format!("{word:?} is not an argument; write key=value"))),
    }
}

fn option_word<'a>(
    option: &str,
    rest: &mut (impl Iterator<Item = &'a str> + Clone),
) -> Result<(String, String), ConfigError> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value.trim().to_owned())),
        None => (option, None),
    };
    let name = name.trim().replace('-', "_");
    if name.is_empty() {
        return Err(ConfigError::new("an option needs a name; write --key value"));
    }
    if let Some(value) = value {
        return Ok((name, value));
    }
    let next = rest.clone().next();
    if keys::find(&name).is_some_and(|key| key.flag) {
        return Ok(match next {
            Some(word @ ("true" | "false")) => {
                rest.next();
                (name, word.to_owned())
            }
            _ => (name, "true".to_owned()),
        });
    }
    match next {
        Some(word) if !word.starts_with("--") => {
            rest.next();
            Ok((name, word.to_owned()))
        }
        _ => Err(ConfigError::new(format!("--{name} needs a value after it"))),
    }
}
