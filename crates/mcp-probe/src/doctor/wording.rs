//! Words by which programs complain, in the languages that their runtimes and authors use:
//! English, Chinese, Japanese, German.

/// Whether a line holds one of these phrases, letters of either case.
pub fn has(line: &str, phrases: &[&str]) -> bool {
    let lower = line.to_lowercase();
    phrases.iter().any(|phrase| lower.contains(&phrase.to_lowercase()))
}

/// Something that was to be set is not.
pub const UNSET: [&str; 31] = [
    "not set",
    "unset",
    "is required",
    "required env",
    "required but",
    "missing",
    "must be set",
    "must set",
    "please set",
    "please provide",
    "please export",
    "not provided",
    "not defined",
    "undefined",
    "not found in environment",
    "no value",
    "is empty",
    "not configured",
    "need to set",
    "未设置",
    "请设置",
    "缺少",
    "没有设置",
    "未配置",
    "不能为空",
    "設定されていません",
    "設定してください",
    "必要です",
    "見つかりません",
    "nicht gesetzt",
    "fehlt",
];

/// An argument that must be given is not.
pub const ARGUMENT: [&str; 20] = [
    "arguments are required",
    "required arguments were not provided",
    "missing required argument",
    "missing required option",
    "required option",
    "missing argument",
    "missing required flag",
    "required flag",
    "required parameter",
    "expected argument",
    "requires at least",
    "no such option",
    "not enough arguments",
    "too few arguments",
    "缺少参数",
    "缺少必需",
    "引数が必要",
    "引数がありません",
    "argument fehlt",
    "fehlendes argument",
];

/// An argument that is not known.
pub const UNKNOWN_ARGUMENT: [&str; 9] = [
    "unrecognized argument",
    "unexpected argument",
    "unknown option",
    "unknown argument",
    "unknown flag",
    "provided but not defined",
    "未知参数",
    "不明なオプション",
    "unbekannte option",
];

/// A port is in use.
pub const PORT_TAKEN: [&str; 9] = [
    "eaddrinuse",
    "address already in use",
    "address in use",
    "only one usage of each socket address",
    "port is already allocated",
    "地址已在使用",
    "已被占用",
    "既に使用",
    "bereits verwendet",
];

/// A file is not there.
pub const NO_FILE: [&str; 12] = [
    "no such file or directory",
    "enoent",
    "filenotfound",
    "nosuchfile",
    "cannot find the file",
    "cannot find the path",
    "file not found",
    "没有那个文件或目录",
    "找不到指定的",
    "そのようなファイルやディレクトリはありません",
    "ファイルが見つかりません",
    "datei oder verzeichnis nicht gefunden",
];

/// A right is missing.
pub const NO_RIGHT: [&str; 7] = [
    "permission denied",
    "eacces",
    "eperm",
    "operation not permitted",
    "权限不够",
    "許可がありません",
    "keine berechtigung",
];

/// Another machine or service does not answer.
pub const NOT_REACHED: [&str; 15] = [
    "econnrefused",
    "connection refused",
    "enotfound",
    "eai_again",
    "name or service not known",
    "temporary failure in name resolution",
    "etimedout",
    "getaddrinfo",
    "could not connect",
    "no such host",
    "cannot connect to the docker daemon",
    "拒绝连接",
    "连接失败",
    "接続を拒否",
    "verbindungsaufbau abgelehnt",
];

/// Credentials are not taken.
pub const CREDENTIALS: [&str; 10] = [
    "invalid api key",
    "bad credentials",
    "authentication failed",
    "invalid token",
    "unauthorized",
    "invalid credentials",
    "access denied",
    "认证失败",
    "認証に失敗",
    "anmeldung fehlgeschlagen",
];
