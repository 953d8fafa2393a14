//! The mock servers by name: each is the good one with exactly one fault.

use super::escapes::escapes;
use super::faults::{
    Act, answers_notifications, chatty_stderr, close_mid_message, crash_on_null, cut, dies,
    drifted, empty_tools, endless_pages, error_stderr, flapping, flood, good, invalid_utf8, late,
    long_line, needs_initialized, nested_bomb, no_mcp, noisy, odd_json, odd_names, only_oldest,
    out_of_order, pushy, risky, slow, stack_trace, version_strict, wrong_ids,
};
use super::model::Model;
use super::shapes;
use crate::json::Json;
use crate::obj;

/// How a mock behaves as an HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// JSON answers at `/mcp`.
    Plain,
    /// Answers as event streams.
    Events,
    /// The same, with the final empty line missing and the stream held open.
    UnfinishedEvent,
    /// An event stream that only keeps alive and never answers.
    Endless,
    /// Served at `/api/mcp`.
    OtherPath,
    /// Wants a bearer token.
    Auth,
    /// Refuses unless both media types are accepted.
    StrictAccept,
    /// Redirects in a circle.
    Redirects,
    /// The old transport at `/sse`.
    OldSse,
    /// The old transport, its endpoint at another origin.
    ForeignEndpoint,
    /// Announces more bytes than it sends.
    ShortBody,
    /// Issues a session and insists on it.
    Sessions,
    /// Takes any `Origin` and `Host`.
    Careless,
    /// Accepts the connection and says nothing.
    Mute,
    /// Speaks no HTTP.
    NotHttp,
    /// No `Content-Type`.
    NoType,
    /// Moved to another path, by a status that turns a POST into a GET.
    Moved,
    /// A login page in front.
    Login,
    /// A web page at every path.
    WebPage,
    /// JSON that is called an event stream.
    CalledEvents,
    /// Packed with gzip although nobody asked for it.
    Packed,
    /// Every other request goes to a worker that knows no session.
    Workers,
    /// Over pipes: frames messages with `Content-Length`, as LSP does.
    Framed,
    /// Over pipes: keeps what it writes until its input ends.
    HeldBack,
}

/// A row of the table.
pub struct Mock {
    /// Name.
    pub name: &'static str,
    /// What is wrong with it, in one line.
    pub about: &'static str,
    /// The rule that finds it, or empty for a good server.
    pub rule: &'static str,
    /// HTTP behaviour.
    pub manner: Manner,
    /// Changes to the good server.
    pub setup: fn(&mut Model),
    /// What it does with a message.
    pub react: fn(&mut Model, &Json) -> Vec<Act>,
}

const fn mock(name: &'static str, about: &'static str, rule: &'static str) -> Mock {
    Mock { name, about, rule, manner: Manner::Plain, setup: |_| {}, react: good }
}

const fn model(
    name: &'static str,
    about: &'static str,
    rule: &'static str,
    setup: fn(&mut Model),
) -> Mock {
    Mock { setup, ..mock(name, about, rule) }
}

const fn react(
    name: &'static str,
    about: &'static str,
    rule: &'static str,
    react: fn(&mut Model, &Json) -> Vec<Act>,
) -> Mock {
    Mock { react, ..mock(name, about, rule) }
}

const fn legacy_react(
    name: &'static str,
    about: &'static str,
    rule: &'static str,
    react: fn(&mut Model, &Json) -> Vec<Act>,
) -> Mock {
    Mock { setup: |model| model.modern = false, react, ..mock(name, about, rule) }
}

const fn manner(
    name: &'static str,
    about: &'static str,
    rule: &'static str,
    manner: Manner,
) -> Mock {
    Mock { manner, ..mock(name, about, rule) }
}

const PROMPTS_AND_RESOURCES: &[&str] = &[
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
];

/// All mocks.
pub const MOCKS: &[Mock] = &[
    mock("good", "a plain good server, both eras", ""),
    model("paged", "good; its tools come one a page", "", |m| m.page = Some(1)),
    manner("events", "good; over HTTP it answers with event streams", "", Manner::Events),
    manner(
        "sessions",
        "good; over HTTP it issues a session and insists on it",
        "",
        Manner::Sessions,
    ),
    model("legacy", "good; only with a handshake", "", |m| m.modern = false),
    react("dies", "ends at once and names a missing argument", "no-answer", dies),
    react("silent", "reads everything and answers nothing", "no-answer", |_, _| vec![Act::Hang]),
    manner("mute", "accepts the connection and says nothing (HTTP)", "no-answer", Manner::Mute),
    manner("not-http", "speaks something else than HTTP", "not-http", Manner::NotHttp),
    react("no-mcp", "JSON-RPC that knows no method of MCP", "not-mcp", no_mcp),
    Mock {
        setup: only_oldest,
        ..react(
            "version-strict",
            "refuses every version but 2024-11-05",
            "version-mismatch",
            version_strict,
        )
    },
    react(
        "answers-notifications",
        "answers notifications",
        "notification-answered",
        answers_notifications,
    ),
    Mock {
        setup: |model| model.modern = false,
        ..react(
            "needs-initialized",
            "serves nothing before notifications/initialized",
            "",
            needs_initialized,
        )
    },
    react(
        "empty-tools",
        "claims tools and lists none; stderr says which variable is missing",
        "empty-tools",
        empty_tools,
    ),
    react(
        "error-stderr",
        "fails with a bare code; the stack is on stderr",
        "error-stderr",
        error_stderr,
    ),
    manner("wrong-path", "404 but at /api/mcp", "http-404", Manner::OtherPath),
    react("cut", "reads at most 64 KiB of a message", "message-cut", cut),
    manner(
        "short-body",
        "announces more bytes than it sends (HTTP)",
        "message-cut",
        Manner::ShortBody,
    ),
    react(
        "close-mid-message",
        "closes in the middle of a message",
        "message-cut",
        close_mid_message,
    ),
    manner(
        "held-open",
        "sends its answer in an event it never ends (HTTP)",
        "open-stream",
        Manner::UnfinishedEvent,
    ),
    manner(
        "strict-accept",
        "406 unless both media types are accepted (HTTP)",
        "strict-accept",
        Manner::StrictAccept,
    ),
    manner("auth", "401 without a bearer token (HTTP)", "auth-401", Manner::Auth),
    manner("old-sse", "the old HTTP+SSE pair at /sse", "sse-or-http", Manner::OldSse),
    manner(
        "foreign-endpoint",
        "the old pair, its endpoint at another origin",
        "foreign-endpoint",
        Manner::ForeignEndpoint,
    ),
    react("flood", "sends notifications without end instead of its list", "flood", flood),
    react(
        "out-of-order",
        "holds an answer back until the next request has one",
        "out-of-order",
        out_of_order,
    ),
    react("wrong-ids", "answers with ids of its own", "wrong-id", wrong_ids),
    react("long-line", "sends a list of 64 MiB in one line", "long-message", long_line),
    react("invalid-utf8", "sends text that is not UTF-8", "invalid-utf8", invalid_utf8),
    react("nested-bomb", "nests its list 200,000 deep", "nested-too-deep", nested_bomb),
    manner("redirect-loop", "redirects in a circle (HTTP)", "redirect-loop", Manner::Redirects),
    manner(
        "endless-sse",
        "keeps an event stream alive and never answers (HTTP)",
        "endless-stream",
        Manner::Endless,
    ),
    react("endless-pages", "its list leads in a circle", "endless-pages", endless_pages),
    react(
        "noisy",
        "writes log lines, colours and a byte order mark among its messages",
        "noise-on-stdout",
        noisy,
    ),
    Mock {
        setup: |model| {
            model.capabilities = obj! { "tools": obj! {} };
            model.missing = PROMPTS_AND_RESOURCES.to_vec();
        },
        ..react("late", "takes three seconds to say that it has no prompts", "", late)
    },
    react("slow", "takes three seconds for its list and reports progress", "", slow),
    react("escapes", "steers the terminal with every text it sends", "", escapes),
    react("chatty-stderr", "fills its error pipe before each answer", "", chatty_stderr),
    react(
        "odd-json",
        "duplicate names, numbers beyond 2^53, unknown members",
        "odd-json",
        odd_json,
    ),
    model(
        "unadvertised",
        "has tools, prompts and resources, and claims none",
        "unadvertised",
        |m| m.capabilities = obj! {},
    ),
    model("overpromise", "claims prompts and resources it does not have", "not-implemented", |m| {
        m.missing = PROMPTS_AND_RESOURCES.to_vec();
    }),
    model("duplicate-tools", "lists a tool twice", "duplicate-names", |m| {
        m.tools.push(m.tools[0].clone())
    }),
    react("flapping", "its list changes by itself", "unstable-list", flapping),
    model("no-schema", "a tool whose input schema has no type", "refused-shape", shapes::no_schema),
    legacy_react("nameless", "greets without serverInfo", "refused-shape", shapes::nameless),
    react("versionless", "messages without jsonrpc", "refused-shape", shapes::versionless),
    react(
        "null-cursor",
        "ends its lists with nextCursor: null",
        "refused-shape",
        shapes::null_cursor,
    ),
    react("empty-cursor", "ends its lists with an empty cursor", "", shapes::empty_cursor),
    react("text-ids", "sends ids back as text", "odd-shape", shapes::text_ids),
    react("null-ids", "answers without the id", "wrong-id", shapes::null_ids),
    react("batches", "wraps each answer into an array", "refused-shape", shapes::batches),
    react("pretty", "writes a message over several lines", "refused-shape", shapes::pretty),
    react("windows-lines", "ends lines with CR LF", "odd-shape", shapes::windows_lines),
    react("json-logs", "logs in JSON among its messages", "invalid-message", shapes::json_logs),
    legacy_react(
        "older-only",
        "says by server/discover that it has only older versions",
        "",
        shapes::older_only,
    ),
    legacy_react("deaf", "keeps silent at server/discover", "", shapes::deaf),
    legacy_react(
        "dies-of-discover",
        "ends at server/discover",
        "dies-later",
        shapes::dies_of_discover,
    ),
    react(
        "dies-of-cancel",
        "ends at notifications/cancelled",
        "dies-later",
        shapes::dies_of_cancel,
    ),
    react("modern-only", "knows no initialize", "no-handshake", shapes::modern_only),
    react(
        "web-server",
        "serves HTTP although it was started for pipes",
        "is-http",
        shapes::web_server,
    ),
    react("prompt", "an interactive program", "not-a-server", shapes::prompt),
    react(
        "python-text",
        "answers with the text of a Python dict",
        "wrong-framing",
        shapes::python_text,
    ),
    react("wide-text", "answers in UTF-16", "wrong-framing", shapes::wide_text),
    manner(
        "framed",
        "frames messages with Content-Length (pipes)",
        "wrong-framing",
        Manner::Framed,
    ),
    manner("held-back", "does not flush its output (pipes)", "unflushed", Manner::HeldBack),
    model("many-tools", "offers 1,500 tools", "big-list", shapes::many_tools),
    manner("no-type", "no Content-Type (HTTP)", "refused-shape", Manner::NoType),
    manner("moved", "301 to another path (HTTP)", "refused-shape", Manner::Moved),
    manner("login", "redirects to a login page (HTTP)", "auth-401", Manner::Login),
    manner("web-page", "a web application at the path (HTTP)", "no-answer", Manner::WebPage),
    manner(
        "called-events",
        "JSON labelled as an event stream (HTTP)",
        "no-answer",
        Manner::CalledEvents,
    ),
    manner("packed", "good; its answers are packed with gzip (HTTP)", "", Manner::Packed),
    manner(
        "workers",
        "two workers, sessions in one of them (HTTP)",
        "session-lost",
        Manner::Workers,
    ),
    model(
        "drifted",
        "the good server after an update: a tool changed, one came, one went",
        "",
        drifted,
    ),
    model("risky", "tools that run commands, take any path, hide instructions", "scan", risky),
    manner(
        "careless",
        "takes any Origin and Host, without a token (HTTP)",
        "scan",
        Manner::Careless,
    ),
    model("odd-names", "names and schemas that clients refuse", "lint", odd_names),
    react("pushy", "asks the client to sample and sends notifications", "scan", pushy),
    react("crash-on-null", "dies when an argument is null", "errors", crash_on_null),
    react("stack-trace", "shows its stack when an argument is wrong", "errors", stack_trace),
];

/// The mock of that name.
pub fn find(name: &str) -> Option<&'static Mock> {
    MOCKS.iter().find(|mock| mock.name == name)
}
