//! A small multilingual lexicon and the matching of its terms: concepts such as
//! "path", "writes", "runs" with their words in English, Chinese, Japanese,
//! German, Spanish, and some Portuguese and French.
//!
//! Latin words are folded (no accents, no case) and compared as whole words, a
//! plural `s` allowed; a term with `*` matches a beginning or an end, as German
//! compounds need; terms of several words match a sequence. Terms in scripts
//! without spaces match anywhere.

/// Words of one concept.
pub type Terms = &'static [&'static str];

/// A text made ready for matching.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// Folded Latin words, numbers among them, in order.
    pub list: Vec<String>,
    /// The folded text.
    pub text: String,
}

impl Words {
    /// Reads a text or an identifier: words end at anything that is no letter
    /// or digit and before a capital that follows a small letter.
    pub fn of(text: &str) -> Words {
        let mut list = vec![String::new()];
        let mut whole = String::with_capacity(text.len());
        let mut small_before = false;
        for c in text.chars() {
            let breaks = !c.is_alphanumeric() || is_ideographic(c);
            if (breaks || (c.is_uppercase() && small_before)) && !whole.is_empty() {
                list.push(String::new());
            }
            small_before = c.is_lowercase() || c.is_numeric();
            for folded in c.to_lowercase().map(fold) {
                whole.push_str(folded.as_str());
                if !breaks && let Some(word) = list.last_mut() {
                    word.push_str(folded.as_str());
                }
            }
        }
        list.retain(|word| !word.is_empty());
        // In Japanese "path" is the beginning of "password".
        Words { list, text: whole.replace("パスワード", "暗証") }
    }

    /// The first term of a concept that occurs.
    pub fn find(&self, terms: Terms) -> Option<&'static str> {
        terms.iter().find(|term| self.position(term).is_some()).copied()
    }

    /// Whether a concept occurs.
    pub fn has(&self, terms: Terms) -> bool {
        self.find(terms).is_some()
    }

    /// Where a term begins: the number of its word, or 0 in scripts without spaces.
    pub fn position(&self, term: &str) -> Option<usize> {
        if !term.is_ascii() {
            return self.text.contains(term).then_some(0);
        }
        let parts: Vec<&str> = term.split(' ').collect();
        (0..self.list.len()).find(|start| {
            parts
                .iter()
                .enumerate()
                .all(|(at, part)| self.list.get(start + at).is_some_and(|word| fits(word, part)))
        })
    }

    /// Which of two concepts comes first.
    pub fn first(&self, terms: Terms) -> Option<(usize, &'static str)> {
        let found = terms.iter().filter_map(|term| Some((self.position(term)?, *term)));
        found.min_by_key(|(at, _)| *at)
    }

    /// Its last word.
    pub fn last(&self) -> &str {
        self.list.last().map(String::as_str).unwrap_or_default()
    }
}

fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn fits(word: &str, term: &str) -> bool {
    if let Some(start) = term.strip_suffix('*') {
        return word.starts_with(start);
    }
    if let Some(end) = term.strip_prefix('*') {
        return word.ends_with(end);
    }
    word == term
        || word
            .strip_prefix(term)
            .is_some_and(|rest| rest == "s" || (rest == "es" && term.len() > 3))
}

/// A letter without its accent.
fn fold(c: char) -> String {
    match c {
        'á' | 'à' | 'â' | 'ã' | 'ä' | 'å' => "a".into(),
        'é' | 'è' | 'ê' | 'ë' => "e".into(),
        'í' | 'ì' | 'î' | 'ï' => "i".into(),
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' => "o".into(),
        'ú' | 'ù' | 'û' | 'ü' => "u".into(),
        'ñ' => "n".into(),
        'ç' => "c".into(),
        'ß' => "ss".into(),
        other => other.to_string(),
    }
}

/// A place in a file system.
pub const PATH: Terms = &[
    "path", "filepath", "file", "filename", "dir", "directory", "directories", "folder", "pathname",
    "filesystem", "ruta", "archivo", "fichero", "carpeta", "directorio", "caminho", "arquivo",
    "pasta", "diretorio", "chemin", "fichier", "dossier", "repertoire", "pfad*", "*pfad", "datei*",
    "*datei", "ordner", "*ordner", "verzeichnis*", "*verzeichnis", "路径", "文件", "目录", "檔案", "路徑",
    "パス", "ファイル", "フォルダ", "ディレクトリ",
];
/// Phrases that make a parameter of any name a path.
pub const PATH_PHRASES: Terms = &[
    "path to", "path of", "absolute path", "file path", "filepath", "directory path", "folder path",
    "full path", "relative path", "directory for", "directory where", "filename to save",
    "file name to save", "ruta al", "ruta del", "ruta de", "ruta completa", "ruta absoluta",
    "ruta donde", "directorio donde", "directorio de", "carpeta donde", "caminho absoluto",
    "caminho do", "caminho para", "pfad zu", "pfad zur", "pfad zum", "pfad der", "pfad des",
    "dateipfad", "absoluter pfad", "chemin vers", "文件路径", "目录路径", "绝对路径", "文件夹路径", "檔案路徑", "ファイルパス",
    "絶対パス", "フォルダのパス", "へのパス",
];
/// Phrases that make a path of another kind: inside a document, a page, a map.
pub const NOT_PATH: Terms = &[
    "json path", "jsonpath", "xpath", "yaml path", "url path", "api path", "request path",
    "dot path", "dotted path", "css path", "endpoint", "api endpoint", "cookie", "route", "element", "selector", "coordinate", "latitude",
    "branch", "commit", "timezone", "json路径", "yaml路径", "经纬度", "经度", "元素", "coordenadas",
    "koordinaten", "座標", "要素",
];
/// Names that say a path only when something else does.
pub const VAGUE: Terms = &[
    "source", "src", "destination", "dest", "dst", "target", "output", "input", "root", "cwd",
    "location", "origen", "destino", "salida", "entrada", "ziel", "quelle", "origem", "saida",
    "workspace", "project", "proyecto", "projekt", "projeto", "save", "sitio", "base",
];
/// Last words of names that are about a file and no path to it.
pub const ATTRIBUTE: Terms = &[
    "id", "uid", "uuid", "hash", "type", "size", "pattern", "patterns", "filter", "content",
    "contents", "count", "extension", "ext", "format", "encoding", "mode", "limit", "depth", "tipo",
    "formato", "contenido", "typ", "inhalt", "key", "token", "url", "index", "number", "only",
    "mime", "kind", "data", "base64", "text", "options", "sha", "etag", "description",
];
/// Where something is put.
pub const OUTPUT: Terms = &[
    "output", "out", "outfile", "outdir", "dest", "dst", "destination", "save", "saved", "saves",
    "store", "write to", "written", "downloads", "download to", "export to", "generated", "reports",
    "salida", "destino", "guardar", "guardan", "generar", "generado", "saida", "salvar", "ausgabe*",
    "ziel*", "speicher*", "zielordner", "sortie", "enregistrer", "输出", "保存", "目标", "写入", "出力",
    "書き込",
];
/// What a path is read from, whatever the tool does elsewhere.
pub const SOURCE: Terms = &[
    "source", "source file", "executable", "interpreter", "template", "input file", "input",
    "entry point", "script to", "archivo origen", "origen", "entrada", "plantilla", "vorlage",
    "quelle", "quelldatei", "eingabedatei", "源文件", "模板", "入力", "テンプレート", "エントリーポイント",
    "エントリ", "インタプリタ", "インタープリタ", "解释器",
];
/// Verbs that change what they touch.
pub const WRITES: Terms = &[
    "write", "writes", "delete", "deletes", "remove", "removes", "create", "creates", "move",
    "moves", "rename", "renames", "edit", "edits", "save", "saves", "overwrite", "overwrites",
    "append", "appends", "modify", "modifies", "update", "updates", "set", "put", "patch", "insert",
    "inserts", "replace", "replaces", "copy", "copies", "make", "mkdir", "touch", "truncate",
    "erase", "erases", "unlink", "rm", "mv", "cp", "merge", "add", "adds", "clear", "sort",
    "export", "exports", "extract", "extracts", "unzip", "unpack", "decompress", "compress", "zip",
    "restore", "install", "init", "clone", "pull", "push", "commit", "checkout", "reset", "stash",
    "rebase", "cherry", "clean", "prune", "tag", "download", "downloads", "generate", "generates",
    "scaffold", "format", "chmod", "chown", "trash", "purge", "wipe", "organize", "split", "fix", "deploy", "build", "escrib*",
    "borra*", "borre", "elimina*", "crea*", "crear", "mover", "mueve*", "renombra*", "edita*",
    "guarda*", "sobrescrib*", "modifica*", "actualiza*", "inserta*", "reemplaza*", "copia*",
    "descarga*", "genera*", "gerar", "gera", "gerar*", "exporta*", "extrae*", "descomprim*",
    "comprim*", "escrev*", "apaga*", "cria*", "salva*", "schreib*", "losch*", "erstell*",
    "verschieb*", "umbenenn*", "benenn*", "bearbeit*", "speicher*", "uberschreib*", "andern",
    "andert", "anlegen", "anfugen", "einfug*", "ersetz*", "kopier*", "herunterlad*", "entpack*",
    "komprimier*", "entfern*", "ecri*", "supprim*", "写入", "写", "删除", "移除", "创建", "新建", "移动", "重命名",
    "编辑", "保存", "覆盖", "追加", "修改", "更新", "插入", "替换", "复制", "下载", "导出", "解压", "压缩", "暂存", "整理", "拆分", "提交", "推送",
    "拉取", "刪除", "寫入", "書き込", "書く", "削除", "作成", "移動", "名前を変更", "編集", "保存", "上書き", "追記", "変更", "更新",
    "置換", "コピー", "ダウンロード", "展開", "解凍", "圧縮",
];
/// Verbs that leave no doubt that something is changed; one adds numbers, too.
pub const CHANGES: Terms = &[
    "write", "delete", "remove", "overwrite", "rename", "erase", "drop", "kill", "install", "push",
    "commit", "save", "edit", "move", "modify", "truncate", "uninstall", "purge", "wipe", "deploy",
    "borra*", "elimina*", "escrib*", "guarda*", "modifica*", "renombra*", "losch*", "schreib*",
    "speicher*", "uberschreib*", "umbenenn*", "删除", "写入", "修改", "重命名", "覆盖", "安装",
    "削除", "書き込", "上書き", "保存",
];
/// Verbs that only look.
pub const READS: Terms = &[
    "read", "reads", "list", "lists", "get", "gets", "show", "shows", "view", "views", "search",
    "searches", "find", "finds", "describe", "scan", "stat", "status", "diff", "log", "blame",
    "watch", "validate", "check", "test", "tests", "verify", "analyze", "analyse", "count",
    "inspect", "load", "peek", "tree", "cat", "head", "tail", "retrieve", "query", "backup",
    "render", "parse", "extract links", "trace", "lint", "explain", "summarize", "preview", "print",
    "display", "lookup", "locate", "grep", "glob", "reflog", "changelog", "run", "start", "debug",
    "connect", "open", "import graph", "leer",
    "lee", "lista", "listar", "busca*", "obten*", "muestra*", "mostrar", "ver", "verifica*",
    "valida*", "consulta*", "ler", "lesen", "liest", "zeig*", "such*", "auflisten", "prufen",
    "pruft", "abrufen", "lire", "读取", "读", "列出", "查看", "查询", "搜索", "检索", "获取", "扫描", "验证", "检查",
    "测试", "監視", "読み取", "読む", "読み込", "一覧", "表示", "検索", "取得", "確認",
];
/// Verbs that carry a local file elsewhere: what lies at the path is read.
pub const SENDS: Terms = &[
    "upload", "uploads", "attach", "attaches", "send", "sends", "drop", "adjunta*", "subir", "sube",
    "enviar", "envia", "hochlad*", "anhang*", "sende*", "上传", "发送", "上傳", "送信", "アップロード", "添付",
];
/// Words that say that nothing is changed.
pub const HARMLESS: Terms = &[
    "read only", "readonly", "without modifying", "does not modify", "never modifies", "只读", "不修改",
    "不会修改", "読み取り専用", "solo lectura", "nur lesend", "schreibgeschutzt", "does not write", "not saved", "without saving", "不保存", 
    "書き出しは行わ", "保存しない", "no guarda", "speichert nicht", "kein speichern",
];
/// Parameters that hold a command line.
pub const COMMAND: Terms = &[
    "command", "cmd", "commandline", "cmdline", "comando", "befehl", "befehle", "kommando",
    "commande", "argv", "命令", "指令", "コマンド",
];
/// Further parameters of programs that are run as a whole.
pub const ARGUMENTS: Terms = &[
    "args", "argument", "arguments", "argumentos", "argumente", "script", "input", "program",
    "flags", "参数", "引数", "subcommand",
];
/// Shells, and programs that run what they are told.
pub const SHELL: Terms = &[
    "shell", "bash", "zsh", "powershell", "terminal", "exec", "subprocess", "cmd",
    "process", "repl", "konsole", "eingabeaufforderung", "终端", "シェル", "ターミナル",
    "端末",
];
/// Programs whose free arguments can do anything that the user may do.
pub const PROGRAMS: Terms = &[
    "kubectl", "docker", "podman", "helm", "terraform", "ansible", "aws", "gcloud", "az", "git",
    "npm", "npx", "pip", "uv", "cargo", "make", "ssh", "adb", "ffmpeg", "psql", "mysql", "curl",
    "systemctl", "gh", "oc", "xcodebuild", "gradle", "mvn",
];
/// Verbs of running.
pub const RUNS: Terms = &[
    "run", "runs", "execute", "executes", "exec", "start", "debug", "debugging", "spawn", "launch", "invoke", "eval",
    "evaluate", "evaluates", "interpret", "ejecut*", "corre", "lanza*", "execut*", "ausfuhr*",
    "fuhrt", "start*", "lancer", "执行", "运行", "执行命令", "実行", "運行", "執行", "起動",
];
/// Parameters that hold program text.
pub const CODE_PARAMETER: Terms = &[
    "code", "script", "javascript", "js", "python", "expression", "function", "source", "snippet",
    "lambda", "program", "codigo", "guion", "expresion", "quelltext", "ausdruck", "programm*", "代码",
    "脚本", "表达式", "代碼", "コード", "スクリプト", "式",
];
/// What program text is called.
pub const CODE: Terms = &[
    "code", "debug", "debugger", "runtime", "program state", "javascript", "python", "script", "snippet", "lua", "ruby", "perl", "php", "node",
    "typescript", "r code", "julia", "groovy", "notebook", "interpreter", "arbitrary code", "rce",
    "codigo", "guion", "quelltext", "programmtext", "programmcode", "代码", "脚本", "代碼", "コード",
    "スクリプト",
];
/// Expressions of a small, closed language.
pub const CLOSED: Terms = &[
    "math", "mathematical", "arithmetic", "calculation", "calculate", "calculates", "calculator",
    "cron", "regex", "regular expression", "jsonpath", "jq", "matematica", "mathematisch*",
    "berechn*", "calcula*", "数学", "计算", "計算", "数式",
];
/// Parameters that hold a query.
pub const QUERY_PARAMETER: Terms = &[
    "sql", "query", "queries", "statement", "cypher", "where", "graphql", "promql", "sparql",
    "consulta", "sentencia", "abfrage", "requete", "查询", "语句", "クエリ", "文",
];
/// Languages of databases.
pub const DATABASE: Terms = &[
    "sql", "cypher", "sparql", "promql", "graphql", "select", "insert", "postgres", "postgresql",
    "mysql", "sqlite", "mongodb", "bigquery", "snowflake", "clickhouse", "where", "aggregation",
    "influxql", "kql", "lucene",
];
/// Parameters that hold an address.
pub const ADDRESS: Terms = &[
    "url", "uri", "href", "link", "endpoint", "host", "hostname", "webhook", "feed", "website",
    "enlace", "direccion url", "adresse", "网址", "链接", "主机", "リンク", "ホスト",
];
/// What makes an address one of a single service, or data that nobody fetches.
pub const BOUND_ADDRESS: Terms = &[
    "spreadsheet", "sheet", "repository", "issue", "pr", "pull", "card", "board", "tweet", "figma", "github", "gitlab", "confluence",
    "notion", "jira", "ticket", "avatar", "homepage", "redirect", "callback", "profile", "html",
    "canonical",
];
/// Verbs that take an address apart and do not go there.
pub const TAKES_APART: Terms = &[
    "parse", "encode", "decode", "validate", "format", "normalize", "build", "match", "matches",
    "pattern", "regex", "regexp", "解析", "编码", "解码",
];
/// Parameters that hold a secret.
pub const SECRET: Terms = &[
    "password", "passwd", "passphrase", "secret", "token", "apikey", "api key", "credential",
    "private key", "privatekey", "access key", "secret key", "bearer", "contrasena", "clave api",
    "clave secreta", "senha", "passwort", "kennwort", "geheimnis", "zugangsdaten", "mot de passe",
    "密码", "密钥", "令牌", "口令", "密碼", "暗証", "秘密鍵", "トークン",
];
/// Tokens that are no secrets.
pub const NO_SECRET: Terms = &[
    "max", "min", "page", "next", "cursor", "continuation", "count", "num", "number", "limit",
    "budget", "sync", "address", "symbol", "contract", "progress", "mint", "length", "usage", "per",
    "total", "policy", "strength", "id", "name", "ids",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_and_sentences() {
        assert_eq!(
            Words::of("readAnyFile_from.disk2").list,
            ["read", "any", "file", "from", "disk2"]
        );
        assert_eq!(Words::of("Schließt die Datei").list, ["schliesst", "die", "datei"]);
        assert_eq!(Words::of("删除文件 file").list, ["file"]);
    }

    #[test]
    fn terms_match_in_five_languages() {
        for text in
            ["the file", "Dateien", "Zieldatei", "los archivos", "删除文件", "ファイルを読む"]
        {
            assert!(Words::of(text).has(PATH), "{text}");
        }
        for text in ["profile", "パスワード", "empathy", "archive"] {
            assert!(!Words::of(text).has(PATH), "{text}");
        }
        assert!(Words::of("Absolute path of it").has(PATH_PHRASES));
        assert!(!Words::of("a path it is to").has(&["path to"]));
        assert_eq!(Words::of("get or create").first(WRITES).map(|hit| hit.0), Some(2));
    }
}
