//! What each parameter of a tool lets its caller choose, judged by meaning: name,
//! description, schema, the verbs of the tool and the parameters beside it.

use super::lexicon::{
    ADDRESS, ARGUMENTS, ATTRIBUTE, BOUND_ADDRESS, CLOSED, CODE, CODE_PARAMETER, COMMAND, DATABASE,
    HARMLESS, NO_SECRET, NOT_PATH, OUTPUT, PATH, PATH_PHRASES, PROGRAMS, QUERY_PARAMETER, READS,
    RUNS, SECRET, SENDS, SHELL, SOURCE, TAKES_APART, VAGUE, WRITES, Words,
};
use crate::schema::Parameter;
use crate::surface::Tool;

/// What a caller may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A command line.
    Command,
    /// Program text.
    Code,
    /// A path that something is written to.
    PathOut,
    /// A path that something is read from.
    PathIn,
    /// An address.
    Address,
    /// A query of a database.
    Query,
    /// A secret.
    Secret,
}

impl Role {
    /// In words, for a report.
    pub fn describe(self) -> &'static str {
        match self {
            Role::Command => "it takes a command",
            Role::Code => "it takes code",
            Role::PathOut => "it takes any path to write to",
            Role::PathIn => "it takes any path",
            Role::Address => "it takes any address",
            Role::Query => "it takes a query",
            Role::Secret => "it takes a secret",
        }
    }

    /// Whether it is a path.
    pub fn is_path(self) -> bool {
        matches!(self, Role::PathIn | Role::PathOut)
    }
}

/// What a tool does to what lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes it.
    Writes,
    /// Only looks.
    Reads,
}

/// A tool as its words say it.
pub struct Reading<'a> {
    tool: &'a Tool<'a>,
    /// Words of its name.
    pub name: Words,
    /// Words of its description, without the part on arguments.
    pub about: Words,
    opening: Words,
    parameters: Vec<Parameter>,
    beside: Vec<Words>,
}

impl<'a> Reading<'a> {
    /// Reads a tool.
    pub fn of(tool: &'a Tool<'a>) -> Reading<'a> {
        let text = tool.description();
        let at = ["\nArgs:", "\n    Args:", "\nParameters:", "Args:\n", "Returns:"];
        let end = at.iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
        let about = &text[..end];
        let parameters = tool.parameters();
        let beside = parameters.iter().map(|one| Words::of(&one.name)).collect();
        Reading {
            tool,
            name: Words::of(tool.name()),
            about: Words::of(about),
            opening: Words::of(opening(about)),
            parameters,
            beside,
        }
    }

    /// Its parameters at every depth.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The first parameter with a role.
    pub fn with(&self, role: Role) -> Option<&Parameter> {
        self.parameters.iter().find(|one| self.roles(one).contains(&role))
    }

    /// Everything that a parameter lets a caller choose.
    pub fn roles(&self, parameter: &Parameter) -> Vec<Role> {
        if !takes_text(parameter) || is_pinned(parameter) {
            return Vec::new();
        }
        let name = Words::of(&parameter.name);
        let about = Words::of(&self.about_parameter(parameter));
        let mut roles = Vec::new();
        let mut add = |yes: bool, role| {
            if yes {
                roles.push(role);
            }
        };
        add(self.is_command(&name, &about), Role::Command);
        add(self.is_code(&name, &about), Role::Code);
        if self.is_path(parameter, &name, &about) {
            roles.push(self.direction(&name, &about));
        }
        let mut add = |yes: bool, role| {
            if yes {
                roles.push(role);
            }
        };
        add(self.is_address(&name, &about), Role::Address);
        add(self.is_query(&name, &about), Role::Query);
        add(is_secret(&name, &about, parameter), Role::Secret);
        roles
    }

    /// The description of a parameter, be it in the schema or in a list of
    /// arguments in the tool's own text.
    fn about_parameter(&self, parameter: &Parameter) -> String {
        let own = parameter.schema.text_at("description").or(parameter.schema.text_at("title"));
        if let Some(own) = own.filter(|own| !own.eq_ignore_ascii_case(&parameter.name)) {
            return own.to_string();
        }
        let lines = self.tool.description().lines();
        let found = lines.filter_map(|line| {
            let line = line.trim_start_matches([' ', '\t', '-', '*', '•', '`']);
            let rest = line.strip_prefix(parameter.name.as_str())?.trim_start_matches('`');
            let rest = match rest.trim_start().strip_prefix('(') {
                Some(inner) => inner.split_once(')')?.1,
                None => rest,
            };
            let rest = rest.trim_start();
            rest.strip_prefix([':', '：']).or(rest.strip_prefix("- ")).map(str::to_string)
        });
        found.into_iter().next().unwrap_or_default()
    }

    fn is_command(&self, name: &Words, about: &Words) -> bool {
        let runs = self.name.has(RUNS)
            || self.opening.has(RUNS)
            || self.name.has(SHELL)
            || self.about.has(SHELL)
            || about.has(SHELL);
        if name.has(COMMAND) {
            return runs && !name.has(&["name", "id", "history"]);
        }
        let program = self.name.has(PROGRAMS) && self.name.list.len() <= 2;
        let free = name.has(ARGUMENTS);
        let shell_by_name = self.name.has(SHELL) || self.name.has(COMMAND);
        let shell_by_text =
            self.opening.has(SHELL) && (self.opening.has(RUNS) || self.name.has(RUNS));
        free && (program
            || (shell_by_name && !self.name.has(READS_OF_SHELLS))
            || (shell_by_text && name.has(&["input", "script"]))
            || (name.has(&["script"]) && self.name.has(RUNS) && self.speaks_of_machine()))
    }

    fn speaks_of_machine(&self) -> bool {
        self.about.has(&["machine", "host", "system", "shell", "computer", "server"])
    }

    fn is_code(&self, name: &Words, about: &Words) -> bool {
        let closed = about.has(CLOSED) || (!about.has(CODE) && self.opening.has(CLOSED));
        let runs = self.name.has(RUNS) || self.opening.has(RUNS) || about.has(RUNS);
        let path_of_code = name.has(PATH)
            && self.name.has(RUNS)
            && (self.name.has(&["python", "script", "notebook", "javascript", "code"])
                || name.has(&["script", "program", "notebook"]))
            && !self.name.has(READS_OF_SHELLS);
        if path_of_code {
            return true;
        }
        let code = self.name.has(CODE) || self.about.has(CODE) || about.has(CODE);
        name.has(CODE_PARAMETER)
            && !name.has(ATTRIBUTE)
            && !name.has(PATH)
            && runs
            && code
            && !closed
    }

    fn is_path(&self, parameter: &Parameter, name: &Words, about: &Words) -> bool {
        let elsewhere = about.has(&["endpoint", "cookie", "json path", "jsonpath", "xpath"])
            || self.name.has(&["cookie"]);
        if elsewhere || (about.has(NOT_PATH) && !about.has(PATH_PHRASES)) {
            return false;
        }
        if name.has(ATTRIBUTE_LAST) || self.is_remote(about) {
            return false;
        }
        let runs = self.parameters.iter().any(|one| {
            let (name, about) = (Words::of(&one.name), Words::of(&self.about_parameter(one)));
            self.is_command(&name, &about) || (self.is_code(&name, &about) && !name.has(PATH))
        });
        if runs && name.has(&["cwd", "workdir", "dir", "directory", "directorio", "folder"]) {
            return false;
        }
        // Deep inside other things a path may be one of types, menus or modules.
        let nested = parameter.path.contains('.') && name.last() == "path";
        let of_files = self.name.has(FILES) || self.opening.has(FILES) || about.has(FILES);
        if names_path(&parameter.name, name) && (!nested || of_files) {
            return true;
        }
        if about.has(PATH_PHRASES) {
            return !name.has(ATTRIBUTE) || name.has(PATH);
        }
        let tool_of_files = || {
            about.text.is_empty()
                && (self.name.has(PATH) || self.opening.has(PATH))
                && !self.opening.has(NOT_PATH)
        };
        let vague = VAGUE.contains(&name.last());
        vague
            && !name.has(&["project", "proyecto", "workspace"])
            && (about.has(PATH) || tool_of_files())
    }

    /// Paths beside an owner and a repository, or in a bucket, lie elsewhere.
    fn is_remote(&self, about: &Words) -> bool {
        let beside = |terms: &[&str]| {
            self.beside.iter().any(|name| terms.iter().any(|term| name.position(term).is_some()))
        };
        let remote = (beside(&["owner", "organization", "workspace slug"])
            && beside(&["repo", "repository"]))
            || beside(&["bucket", "repo slug", "container name"]);
        let local =
            ["local", "absolute path", "本地", "绝对路径", "ローカル", "絶対パス", "lokal*"];
        remote && !local.iter().any(|term| about.position(term).is_some()) && !about.has(SENDS)
    }

    fn direction(&self, name: &Words, about: &Words) -> Role {
        let put = about.first(OUTPUT).map(|(at, _)| at);
        let taken = about.first(READS).map(|(at, _)| at);
        let first = put.is_some_and(|put| taken.is_none_or(|taken| put <= taken));
        let into = name.has(OUTPUT) || (first && !about.has(FROM));
        let alternative =
            self.beside.iter().any(|one| ["content", "text"].contains(&one.text.as_str()))
                && about.has(&["alternative to content", "二选一", "either"]);
        if into {
            return Role::PathOut;
        }
        // What is said of the parameter itself weighs more than the tool's verb.
        let looks = about.has(READS) || about.has(SENDS);
        if looks && !about.has(WRITES) {
            return Role::PathIn;
        }
        let source = about.has(SOURCE) || name.has(&["source", "template", "executable", "input"]);
        if source && !self.name.has(PATH) {
            return Role::PathIn;
        }
        match self.effect() {
            Effect::Writes if !alternative => Role::PathOut,
            _ => Role::PathIn,
        }
    }

    /// What the tool does, by the verb of its name, then by what the server
    /// says of it, then by the verbs of its description.
    pub fn effect(&self) -> Effect {
        let (writes, reads, sends) =
            (self.name.first(WRITES), self.name.first(READS), self.name.first(SENDS));
        if sends.is_some() {
            return Effect::Reads;
        }
        let read_only = self.tool.hint("readOnlyHint");
        if let (Some((_, verb)), None, Some(true)) = (writes, reads, read_only)
            && EITHER_WAY.contains(&verb)
        {
            return Effect::Reads;
        }
        if writes.is_some_and(|(_, verb)| EITHER_WAY.contains(&verb)) && self.about.has(HARMLESS) {
            return Effect::Reads;
        }
        match (writes, reads) {
            (Some((write, _)), Some((read, _))) if read < write => {
                let between = self.name.list.get(read + 1..write).unwrap_or_default();
                let also = between.iter().any(|word| word == "and" || word == "or");
                return if also { Effect::Writes } else { Effect::Reads };
            }
            (Some(_), _) => return Effect::Writes,
            (None, Some(_)) => return Effect::Reads,
            (None, None) => {}
        }
        if let Some(read_only) = read_only {
            return if read_only { Effect::Reads } else { Effect::Writes };
        }
        let writes = self.about.has(WRITES) || self.offers_to_write();
        match writes && !self.about.has(HARMLESS) {
            true => Effect::Writes,
            false => Effect::Reads,
        }
    }

    /// Tools that do several things name them in a parameter.
    fn offers_to_write(&self) -> bool {
        let choices = self.parameters.iter().filter(|one| {
            Words::of(&one.name).has(&["action", "operation", "mode", "op", "accion", "aktion"])
        });
        choices.into_iter().any(|one| {
            let listed = one.schema.get("enum").map(|list| list.to_string()).unwrap_or_default();
            Words::of(&format!("{listed} {}", self.about_parameter(one))).has(WRITES)
        })
    }

    fn is_address(&self, name: &Words, about: &Words) -> bool {
        let first: Vec<&str> = about.list.iter().take(3).map(String::as_str).collect();
        let by_text = first.iter().any(|word| *word == "url" || *word == "urls")
            && !about.text.contains("data url")
            && !about.has(BOUND_ADDRESS)
            && !name.has(ATTRIBUTE_LAST);
        let by_name = name.has(ADDRESS) && (name.last() != "id" && name.last() != "name");
        let either = self.beside.iter().any(|one| one.text == "isurl" || one.text == "is_url")
            && name.has(PATH);
        let apart = self.name.has(TAKES_APART) || about.has(&["pattern", "regex", "regexp"]);
        either || ((by_name || by_text) && !apart && !name.has(BOUND_ADDRESS))
    }

    fn is_query(&self, name: &Words, about: &Words) -> bool {
        if !name.has(QUERY_PARAMETER) {
            return false;
        }
        let sure = name.has(&["sql", "cypher", "where", "graphql", "promql", "sparql"]);
        sure || about.has(DATABASE)
            || ((self.name.has(DATABASE) || self.opening.has(DATABASE))
                && !self.name.has(&["search"]))
    }
}

/// Verbs that give something back as often as they write it down.
const EITHER_WAY: super::lexicon::Terms =
    &["export", "exports", "generate", "generates", "format", "sort"];
/// Things of a file system.
const FILES: super::lexicon::Terms = &[
    "file",
    "directory",
    "folder",
    "archivo",
    "carpeta",
    "datei*",
    "ordner",
    "文件",
    "目录",
    "ファイル",
    "フォルダ",
];
/// Verbs around shells that run nothing.
const READS_OF_SHELLS: super::lexicon::Terms =
    &["list", "read", "get", "history", "clear", "kill", "stop", "terminate", "lint", "format"];
/// Words that, wherever they stand in a name, say that it is no path.
const ATTRIBUTE_LAST: super::lexicon::Terms =
    &["pattern", "filter", "hash", "glob", "exclude", "extension", "encoding", "mime"];
/// Words of a source, beside which "save" is only mentioned.
const FROM: super::lexicon::Terms = &[
    "upload",
    "to upload",
    "to read",
    "to load",
    "load",
    "read from",
    "to import",
    "to edit",
    "to analyze",
    "to open",
    "to delete",
    "to execute",
    "上传",
];

/// The opening sentences of a description.
fn opening(text: &str) -> &str {
    let stops = ['.', '。', '\n', '！', '!'];
    let mut seen = 0;
    for (at, c) in text.char_indices() {
        if stops.contains(&c) && at > 0 {
            seen += 1;
            if seen == 2 || at > 300 {
                return &text[..at];
            }
        }
    }
    text
}

/// Whether a name alone says that it is a path: its head does, which in English
/// and German stands last, in Romance languages first.
fn names_path(raw: &str, name: &Words) -> bool {
    let last = name.last();
    let only = |terms: super::lexicon::Terms, word: &str| Words::of(word).has(terms);
    let first = name.list.first().map(String::as_str).unwrap_or_default();
    if !raw.is_ascii() && name.list.is_empty() {
        return name.has(PATH);
    }
    let joined = ["path", "filename", "filepath", "outputdir", "workdir", "basedir"];
    let wrong = ["xpath", "jsonpath", "jmespath", "classpath", "keypath"];
    if only(PATH, last) || (joined.iter().any(|end| last.ends_with(end)) && !wrong.contains(&last))
    {
        return true;
    }
    let romance =
        ["ruta", "caminho", "chemin", "carpeta", "directorio", "dossier", "archivo", "fichero"];
    if romance.contains(&first) && !ATTRIBUTE.contains(&last) {
        return true;
    }
    // file_name, path_name; but not file_id.
    matches!(last, "name" | "nombre")
        && name.list.iter().rev().nth(1).is_some_and(|word| only(PATH, word))
        || (last == "absolute" && name.has(PATH))
        || matches!(last, "cwd" | "workdir")
}

fn is_secret(name: &Words, about: &Words, parameter: &Parameter) -> bool {
    let text = parameter.types.is_empty() || parameter.types.iter().any(|kind| kind == "string");
    let by_name = name.has(SECRET) && !name.has(NO_SECRET);
    let by_text = name.has(&["key", "clave", "schlussel", "auth", "bearer"])
        && about.has(&[
            "secret",
            "secret key",
            "api key",
            "token",
            "密钥",
            "clave secreta",
            "geheim*",
        ]);
    text && (by_name || by_text)
}

/// Whether the schema of a parameter says exactly what may come: a list, or a
/// pattern that is more than "anything".
pub fn is_pinned(parameter: &Parameter) -> bool {
    let open = |pattern: &str| {
        [".*", ".+", "\\S", "^.", "[\\s\\S]"].iter().any(|any| pattern.contains(any))
    };
    parameter.schema.get("enum").is_some()
        || parameter.schema.get("const").is_some()
        || parameter.schema.text_at("pattern").is_some_and(|pattern| !open(pattern))
}

/// Whether texts or lists of them may come.
pub fn takes_text(parameter: &Parameter) -> bool {
    // The members of objects in a list are parameters of their own.
    if parameter.schema.get("items").is_some_and(|items| items.get("properties").is_some()) {
        return false;
    }
    parameter.types.is_empty()
        || parameter.types.iter().any(|kind| kind == "string" || kind == "array")
}
