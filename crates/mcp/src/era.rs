//! Which version a request speaks. Modern requests say so themselves; others
//! are told by their header, or on stdio by the handshake that came first.

use crate::{Failure, Header, Headers, Version, metadata};
use serde_json::{Map, Value};

/// How a request is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// It carries its own metadata.
    Modern,
    /// It belongs to a version that begins with `initialize`; an `initialize`
    /// itself belongs to the version it settles on.
    Legacy(Version),
}

/// What is known about a request beside its body.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The headers of an HTTP request.
    Http(&'a Headers<'a>),
    /// What the last handshake on this pipe settled on.
    Stdio(Option<Version>),
}

/// Settles the era of a request and checks the metadata that belongs to it.
pub fn choose(
    method: &str,
    params: &Map<String, Value>,
    source: Source<'_>,
) -> Result<Era, Failure> {
    let headers = match source {
        Source::Http(headers) => Some(headers),
        Source::Stdio(_) => None,
    };
    if metadata::is_modern(params) {
        return metadata::check(method, params, headers).map(|()| Era::Modern);
    }
    match source {
        Source::Http(headers) => by_header(method, params, headers),
        Source::Stdio(settled) => by_handshake(method, params, settled),
    }
}

fn by_header(
    method: &str,
    params: &Map<String, Value>,
    headers: &Headers<'_>,
) -> Result<Era, Failure> {
    match &headers.version {
        Header::Unusable => Err(Failure::header_mismatch(
            "The header MCP-Protocol-Version must be sent once and be readable.",
        )),
        Header::Text(text) if Version::MODERN.iter().any(|version| version.as_str() == text) => {
            metadata::check(method, params, Some(headers)).map(|()| Era::Modern)
        }
        Header::Text(text) => match Version::legacy(text) {
            None => Err(Failure::unsupported_version(text, &Version::ALL)),
            Some(_) if method == "initialize" => handshake(params),
            Some(version) => Ok(Era::Legacy(version)),
        },
        Header::Absent if method == "initialize" => handshake(params),
        Header::Absent => Err(no_version()),
    }
}

fn by_handshake(
    method: &str,
    params: &Map<String, Value>,
    settled: Option<Version>,
) -> Result<Era, Failure> {
    match settled {
        _ if method == "initialize" => handshake(params),
        Some(version) => Ok(Era::Legacy(version)),
        // Health checks are legal before the handshake.
        None if method == "ping" => Ok(Era::Legacy(Version::V2025_11_25)),
        None => Err(no_version()),
    }
}

fn handshake(params: &Map<String, Value>) -> Result<Era, Failure> {
    match params.get("protocolVersion").and_then(Value::as_str) {
        Some(wanted) => Ok(Era::Legacy(Version::negotiate(wanted))),
        None => Err(Failure::invalid_params("params.protocolVersion must be text.")),
    }
}

fn no_version() -> Failure {
    Failure::invalid_params(
        "The request names no protocol version: send params._meta with \
         io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities, \
         or begin with initialize and name the version it settles on.",
    )
}

/// Notifications have no duties but one: a version header that is sent must
/// name a version we know.
pub fn gate_notification(headers: &Headers<'_>) -> Result<(), Failure> {
    match &headers.version {
        Header::Absent => Ok(()),
        Header::Text(text) if Version::ALL.iter().any(|version| version.as_str() == text) => Ok(()),
        Header::Text(text) => Err(Failure::unsupported_version(text, &Version::ALL)),
        Header::Unusable => Err(Failure::header_mismatch(
            "The header MCP-Protocol-Version must be sent once and be readable.",
        )),
    }
}

#[cfg(test)]
#[allow(clippy::type_complexity, reason = "tables of rows are easier to read spelled out")]
mod tests {
    use super::*;
    use serde_json::json;
    use std::borrow::Cow;

    const OLD: Era = Era::Legacy(Version::V2025_06_18);
    const MID: Era = Era::Legacy(Version::V2025_11_25);

    fn meta(version: &str) -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    }

    fn text(value: Option<&str>) -> Header<'_> {
        value.map_or(Header::Absent, |value| Header::Text(Cow::Borrowed(value)))
    }

    /// `headers`: version, method, name.
    fn http(method: &str, params: Value, headers: [Option<&str>; 3]) -> Result<Era, i64> {
        let [version, method_header, name] = headers.map(text);
        let headers = Headers { version, method: method_header, name };
        let params = params.as_object().cloned().unwrap_or_default();
        choose(method, &params, Source::Http(&headers)).map_err(|failure| {
            assert_eq!(failure.http_status, 400);
            failure.code
        })
    }

    #[test]
    fn http_requests_without_metadata() {
        let wants = |version: &str| json!({ "protocolVersion": version });
        let rows: &[(&str, Value, Option<&str>, Result<Era, i64>)] = &[
            ("initialize", wants("2025-06-18"), None, Ok(OLD)),
            ("initialize", wants("2025-11-25"), None, Ok(MID)),
            ("initialize", wants("2026-07-28"), None, Ok(MID)),
            ("initialize", wants("1999"), None, Ok(MID)),
            ("initialize", wants("2025-11-25"), Some("2025-06-18"), Ok(MID)),
            ("initialize", wants("2025-06-18"), Some("2025-11-25"), Ok(OLD)),
            ("initialize", wants("2025-06-18"), Some("1999"), Err(-32022)),
            ("initialize", wants("2025-06-18"), Some(""), Err(-32022)),
            ("initialize", wants("2025-06-18"), Some("2026-07-28"), Err(-32602)),
            ("initialize", json!({}), None, Err(-32602)),
            ("initialize", json!({"protocolVersion": 1}), None, Err(-32602)),
            ("tools/list", json!({}), Some("2025-06-18"), Ok(OLD)),
            ("tools/list", json!({}), Some("2025-11-25"), Ok(MID)),
            ("tools/list", json!({"_meta": {"progressToken": 1}}), Some("2025-11-25"), Ok(MID)),
            ("tools/list", json!({}), Some("2026-07-28"), Err(-32602)),
            ("tools/list", json!({"_meta": {"progressToken": 1}}), Some("2026-07-28"), Err(-32602)),
            ("tools/list", json!({}), Some("2024-11-05"), Err(-32022)),
            ("tools/list", json!({}), Some("nonsense"), Err(-32022)),
            ("tools/list", json!({}), None, Err(-32602)),
            ("ping", json!({}), None, Err(-32602)),
            ("nonsense", json!({}), Some("2025-11-25"), Ok(MID)),
        ];
        for (method, params, header, expected) in rows {
            let era = http(method, params.clone(), [*header, None, None]);
            assert_eq!(&era, expected, "{method} {params} {header:?}");
        }
    }

    #[test]
    fn unknown_versions_list_what_can_be_used() {
        let headers = Headers { version: text(Some("1999")), ..Headers::NONE };
        let failure = choose("ping", &Map::new(), Source::Http(&headers)).expect_err("1999");
        let all = json!({
            "supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "1999",
        });
        assert_eq!(failure.data, Some(all));

        let params = Map::from_iter([("_meta".to_owned(), meta("2025-11-25"))]);
        let failure = choose("ping", &params, Source::Stdio(None)).expect_err("2025 in metadata");
        let modern = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
        assert_eq!((failure.code, failure.data), (-32022, Some(modern)));
    }

    #[test]
    fn modern_metadata_is_checked_in_order() {
        const NOW: &str = "2026-07-28";
        let good = meta(NOW);
        let with = |key: &str, value: Value| {
            let mut meta = good.clone();
            meta[key] = value;
            json!({ "_meta": meta })
        };
        let only = |key: &str, value: Value| json!({ "_meta": { key: value } });
        let version = "io.modelcontextprotocol/protocolVersion";
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        let client = "io.modelcontextprotocol/clientInfo";
        let h = |version: &'static str| [Some(version), Some("ping"), None];
        let rows: &[(Value, [Option<&str>; 3], Result<Era, i64>)] = &[
            (json!({"_meta": good}), h(NOW), Ok(Era::Modern)),
            (with(client, json!({"name": "c"})), h(NOW), Ok(Era::Modern)),
            (with("progressToken", json!(1)), h(NOW), Ok(Era::Modern)),
            // The name header means nothing here.
            (json!({"_meta": good}), [Some(NOW), Some("ping"), Some("x")], Ok(Era::Modern)),
            // 1: shape
            (only(version, json!(NOW)), h(NOW), Err(-32602)),
            (only(capabilities, json!({})), h(NOW), Err(-32602)),
            (only(capabilities, json!({})), [None; 3], Err(-32602)),
            (with(version, json!(20260728)), h(NOW), Err(-32602)),
            (with(version, json!(null)), h(NOW), Err(-32602)),
            (with(capabilities, json!([])), h(NOW), Err(-32602)),
            (json!({"_meta": []}), h(NOW), Err(-32602)),
            // 2: client
            (with(client, json!("c")), h(NOW), Err(-32602)),
            (with(client, json!(null)), h(NOW), Err(-32602)),
            // 3: header before 4: version
            (json!({"_meta": good}), [None, Some("ping"), None], Err(-32020)),
            (json!({"_meta": good}), h("2025-11-25"), Err(-32020)),
            (json!({"_meta": meta("v999")}), h(NOW), Err(-32020)),
            (json!({"_meta": meta("v999")}), h("v999"), Err(-32022)),
            (json!({"_meta": meta("1900-01-01")}), h("1900-01-01"), Err(-32022)),
            (json!({"_meta": meta("2025-11-25")}), h("2025-11-25"), Err(-32022)),
            (json!({"_meta": meta("2024-11-05")}), [Some("2024-11-05"), None, None], Err(-32022)),
            // 5: method
            (json!({"_meta": good}), [Some(NOW), None, None], Err(-32020)),
            (json!({"_meta": good}), [Some(NOW), Some("pong"), None], Err(-32020)),
            (json!({"_meta": good}), [Some(NOW), Some("PING"), None], Err(-32020)),
        ];
        for (params, headers, expected) in rows {
            assert_eq!(&http("ping", params.clone(), *headers), expected, "{params} {headers:?}");
        }
    }

    #[test]
    fn named_requests_repeat_their_name() {
        let now = "2026-07-28";
        for (method, member) in [("tools/call", "name"), ("resources/read", "uri")] {
            let call = |name: Value| json!({"_meta": meta(now), member: name});
            let h = |name| [Some(now), Some(method), name];
            let rows = [
                (call(json!("x")), h(Some("x")), Ok(Era::Modern)),
                (call(json!("x")), h(None), Err(-32020)),
                (call(json!("x")), h(Some("X")), Err(-32020)),
                (call(json!("")), h(Some("")), Err(-32602)),
                (call(json!(" ")), h(Some("")), Err(-32602)),
                (call(json!(1)), h(Some("1")), Err(-32602)),
                (call(json!(1)), h(None), Err(-32602)),
                (json!({"_meta": meta(now)}), h(None), Err(-32602)),
                // The method header comes first.
                (call(json!(1)), [Some(now), Some("ping"), None], Err(-32020)),
            ];
            for (params, headers, expected) in rows {
                let era = http(method, params.clone(), headers);
                assert_eq!(era, expected, "{method} {params} {headers:?}");
            }
        }
    }

    #[test]
    fn stdio_remembers_the_handshake() {
        let old = Some(Version::V2025_06_18);
        let modern = json!({"_meta": meta("2026-07-28")});
        let rows: &[(&str, Value, Option<Version>, Result<Era, i64>)] = &[
            ("tools/list", modern.clone(), None, Ok(Era::Modern)),
            ("tools/list", modern.clone(), old, Ok(Era::Modern)),
            ("initialize", modern, old, Ok(Era::Modern)),
            ("initialize", json!({"protocolVersion": "2025-11-25"}), old, Ok(MID)),
            ("initialize", json!({}), None, Err(-32602)),
            ("tools/list", json!({}), None, Err(-32602)),
            ("server/discover", json!({}), None, Err(-32602)),
            ("server/discover", json!({}), old, Ok(OLD)),
            ("tools/list", json!({}), old, Ok(OLD)),
            ("ping", json!({}), None, Ok(MID)),
            ("ping", json!({"_meta": meta("1999")}), old, Err(-32022)),
            ("tools/call", json!({"_meta": meta("2026-07-28")}), old, Err(-32602)),
        ];
        for (method, params, settled, expected) in rows {
            let object = params.as_object().cloned().unwrap_or_default();
            let era = choose(method, &object, Source::Stdio(*settled));
            assert_eq!(&era.map_err(|f| f.code), expected, "{method} {params} {settled:?}");
        }
    }

    #[test]
    fn notifications_have_one_duty() {
        let gate = |version| {
            gate_notification(&Headers { version, ..Headers::NONE }).map_err(|failure| failure.code)
        };
        assert_eq!(gate(Header::Absent), Ok(()));
        for version in Version::ALL {
            assert_eq!(gate(text(Some(version.as_str()))), Ok(()));
        }
        assert_eq!(gate(text(Some("1999"))), Err(-32022));
        assert_eq!(gate(Header::Unusable), Err(-32020));
    }
}
