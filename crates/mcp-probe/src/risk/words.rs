//! The rules of the scan by name, and the words they weigh.

/// A rule with the question it answers, for lists of rules.
pub struct Rule {
    /// Name.
    pub name: &'static str,
    /// What it looks for.
    pub about: &'static str,
}

/// All rules of the scan.
pub const RULES: [Rule; 25] = [
    Rule { name: "runs-commands", about: "A tool runs commands of the operating system" },
    Rule { name: "runs-code", about: "A tool evaluates code" },
    Rule { name: "any-path-write", about: "A tool writes or deletes at any path" },
    Rule { name: "any-path-read", about: "A tool reads from any path" },
    Rule { name: "any-url", about: "A tool fetches any address" },
    Rule { name: "any-query", about: "A tool takes free query text" },
    Rule { name: "unvalidated", about: "Parameters without type or bounds" },
    Rule { name: "no-schema", about: "A tool without a usable input schema" },
    Rule {
        name: "injected-instructions",
        about: "A text that speaks to the model rather than about the tool",
    },
    Rule { name: "hidden-text", about: "Characters that people do not see" },
    Rule {
        name: "false-read-only",
        about: "A tool that says it only reads, and whose name says otherwise",
    },
    Rule { name: "no-hints", about: "A tool that says nothing of its effects" },
    Rule {
        name: "shadowing",
        about: "A tool that takes the name of another, or speaks about another",
    },
    Rule { name: "odd-name", about: "A name with characters outside ASCII" },
    Rule { name: "foreign-reference", about: "A schema that points outside itself" },
    Rule { name: "takes-secrets", about: "A parameter for passwords or keys" },
    Rule { name: "server-push", about: "The server sends requests or content unasked" },
    Rule { name: "no-auth", about: "An HTTP server beyond this machine that wants no credentials" },
    Rule {
        name: "origin-unchecked",
        about: "An HTTP server that takes requests of foreign web pages",
    },
    Rule { name: "host-unchecked", about: "An HTTP server that takes any Host" },
    Rule { name: "plain-http", about: "An unencrypted connection beyond this machine" },
    Rule { name: "path-traversal", about: "A tool left the folder it was given (tried)" },
    Rule {
        name: "link-followed",
        about: "A tool followed a link out of the folder it was given (tried)",
    },
    Rule { name: "command-injection", about: "Text in an argument was run as a command (tried)" },
    Rule { name: "not-tried", about: "A tool was left out of the active tests" },
];

pub(super) const COMMAND_WORDS: [&str; 12] = [
    "shell",
    "bash",
    "command",
    "cmd",
    "exec",
    "execute",
    "terminal",
    "subprocess",
    "powershell",
    "spawn",
    "system",
    "process",
];
pub(super) const COMMAND_PARAMETERS: [&str; 9] =
    ["command", "cmd", "shell", "script", "argv", "args", "commandline", "cli", "program"];
pub(super) const CODE_PARAMETERS: [&str; 8] =
    ["code", "expression", "eval", "javascript", "python", "source", "lambda", "function"];
pub(super) const CODE_WORDS: [&str; 8] =
    ["eval", "evaluate", "interpreter", "javascript", "python", "repl", "sandbox", "notebook"];
pub(super) const PATH_PARAMETERS: [&str; 18] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filepath",
    "dir",
    "directory",
    "folder",
    "destination",
    "dest",
    "target",
    "root",
    "cwd",
    "workdir",
    "output",
    "input",
    "uri",
];
pub(super) const WRITE_WORDS: [&str; 17] = [
    "write",
    "delete",
    "remove",
    "create",
    "move",
    "rename",
    "edit",
    "save",
    "overwrite",
    "append",
    "upload",
    "drop",
    "update",
    "set",
    "put",
    "patch",
    "kill",
];
pub(super) const QUERY_PARAMETERS: [&str; 4] = ["sql", "query", "statement", "cypher"];
pub(super) const QUERY_WORDS: [&str; 6] =
    ["sql", "database", "query", "postgres", "sqlite", "mysql"];
pub(super) const SECRET_PARAMETERS: [&str; 8] =
    ["password", "passwd", "secret", "token", "apikey", "credential", "credentials", "privatekey"];

pub(super) const COMMANDS_TO_MODELS: [(&str, &str); 22] = [
    ("ignore all previous", "\"ignore all previous\""),
    ("ignore previous", "\"ignore previous\""),
    ("ignore the above", "\"ignore the above\""),
    ("disregard", "\"disregard\""),
    ("do not tell the user", "\"do not tell the user\""),
    ("don't tell the user", "\"don't tell the user\""),
    ("do not mention", "\"do not mention\""),
    ("without telling", "\"without telling\""),
    ("do not inform", "\"do not inform\""),
    ("<important>", "an <IMPORTANT> block"),
    ("<system>", "a <SYSTEM> block"),
    ("<secret>", "a <SECRET> block"),
    ("[system]", "a [SYSTEM] block"),
    ("system prompt", "\"system prompt\""),
    ("before using this tool, ", "orders before use"),
    ("before using it, ", "orders before use"),
    ("you must first", "\"you must first\""),
    ("id_rsa", "the name of a private key"),
    ("~/.ssh", "the folder of private keys"),
    ("mcp.json", "the name of a client configuration"),
    (".aws/credentials", "the name of a credentials file"),
    ("/etc/passwd", "the name of a system file"),
];
