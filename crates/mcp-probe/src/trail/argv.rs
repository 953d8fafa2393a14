//! Redaction of secrets on command lines and in addresses: flags with telling
//! names, `NAME=value` words, headers, user names with passwords in addresses,
//! and values that have the shape of well-known tokens.

use super::redact::{self, MARK};

/// Last words of names whose value is a secret.
const TELLING: [&str; 18] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "bearer",
    "pat",
    "jwt",
    "dsn",
    "cookie",
];
/// Names that end in such a word and are none.
const HARMLESS: [&str; 8] =
    ["maxtoken", "publickey", "primarykey", "sortkey", "keyfile", "noauth", "hotkey", "foreignkey"];
/// How tokens of well-known services begin.
const SHAPES: [&str; 17] = [
    "sk-",
    "sk_",
    "pk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "hf_",
    "npm_",
];

/// Whether the value that belongs to a name is a secret.
pub fn is_telling(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    !HARMLESS.iter().any(|harmless| plain.ends_with(harmless))
        && TELLING.iter().any(|telling| plain.ends_with(telling))
        // "bypass", "compat" and their like end in a telling word by chance.
        && !["bypass", "compat", "format", "monkey", "turkey", "oauth"].contains(&plain.as_str())
}

/// The words of a command line as they may be shown.
pub fn words(words: &[String]) -> Vec<String> {
    let mut shown = Vec::with_capacity(words.len());
    let mut expects_secret = false;
    for word in words {
        let secret = std::mem::take(&mut expects_secret);
        let flag = word.starts_with('-');
        if secret && !flag {
            shown.push(header(word).unwrap_or_else(|| MARK.into()));
            continue;
        }
        expects_secret = flag && !word.contains('=') && is_telling(word);
        shown.push(one(word));
    }
    shown
}

/// What was left out of the words: each secret once.
pub fn secrets(words: &[String]) -> Vec<String> {
    let shown = self::words(words);
    let mut found = Vec::new();
    for (word, shown) in words.iter().zip(&shown).filter(|(word, shown)| word != shown) {
        // What stands around the mark is no secret.
        let (before, after) = shown.split_once(MARK).unwrap_or(("", ""));
        let inner = word.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        found.extend(inner.filter(|inner| !inner.is_empty()).map(str::to_string));
    }
    found
}

fn one(word: &str) -> String {
    if let Some(header) = header(word) {
        return header;
    }
    if word.contains("://") {
        return address(word);
    }
    if let Some((name, value)) = word.split_once('=') {
        let name_tells = !name.is_empty() && is_telling(name);
        return match name_tells || has_shape(value) {
            true => format!("{name}={MARK}"),
            false => word.to_string(),
        };
    }
    if has_shape(word) { MARK.into() } else { word.to_string() }
}

fn header(word: &str) -> Option<String> {
    let (name, value) = word.split_once(':')?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (plain && redact::is_secret_header(name))
        .then(|| format!("{name}: {}", redact::header(name, value.trim())))
}

/// An address without its password and secret query parameters. It may stand
/// behind the name of a flag.
pub fn address(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_string() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{MARK}@{host}"),
            None if has_shape(user) || user.len() > 20 => format!("{MARK}@{host}"),
            None => authority.to_string(),
        },
        None => authority.to_string(),
    };
    format!("{scheme}://{authority}{}", redact::path(path))
}

/// Whether a text has the shape of a token that services give out.
fn has_shape(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=+/".contains(c);
    let long = text.len() >= 16 && text.chars().all(plain);
    let jwt = text.starts_with("eyJ") && text.matches('.').count() == 2;
    long && (jwt || SHAPES.iter().any(|shape| text.starts_with(shape)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        words(&line.split(' ').map(Into::into).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn secrets_of_command_lines_go_and_the_rest_stays() {
        for (line, expected) in [
            ("x --api-key sk-1 --port 8", "x --api-key [redacted] --port 8"),
            ("x --password=p --user u", "x --password=[redacted] --user u"),
            ("x GITHUB_TOKEN=abc y", "x GITHUB_TOKEN=[redacted] y"),
            ("x postgres://u:p@h/db", "x postgres://u:[redacted]@h/db"),
            (
                "x --url=https://u:p@h/?token=t&a=1",
                "x --url=https://u:[redacted]@h/?token=[redacted]&a=1",
            ),
            ("x ghp_0123456789abcdef0123", "x [redacted]"),
            ("x --accessToken t", "x --accessToken [redacted]"),
            ("x --token --verbose", "x --token --verbose"),
            ("x --max-token 5 --format json --no-auth", "x --max-token 5 --format json --no-auth"),
            ("npx -y pkg /data/keys", "npx -y pkg /data/keys"),
        ] {
            assert_eq!(shown(line), expected);
        }
        let header = words(&["--header".into(), "Authorization: Bearer abc".into()]);
        assert_eq!(header[1], "Authorization: Bearer [redacted]");
    }

    #[test]
    fn what_was_left_out_is_known() {
        let line: Vec<String> = ["x", "--api-key", "k1", "--password=p2", "postgres://u:p3@h/db"]
            .map(Into::into)
            .into();
        assert_eq!(secrets(&line), ["k1", "p2", "p3"]);
    }
}
