//! The rules of the scan by name.

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
    Rule { name: "odd-name", about: "A name with characters that look like others" },
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
