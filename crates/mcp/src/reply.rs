//! Replies: results dressed for their era, errors with or without an id.

use crate::{Call, Era, Failure, Shape, Version};
use jsonrpc::Id;
use serde_json::{Map, Value, json};

/// Who we say we are.
#[derive(Clone, Debug)]
pub struct Implementation {
    /// Name of the program.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Implementation {
    /// As it is written on the wire.
    pub fn to_value(&self) -> Value {
        json!({ "name": self.name, "version": self.version })
    }
}

/// What the server can do, in every era: tools and resources that never
/// change under a client's feet.
pub fn capabilities() -> Value {
    json!({ "tools": { "listChanged": false }, "resources": { "listChanged": false } })
}

/// Dresses the bare result of a call for its era. Legacy results stay bare.
pub fn decorate(
    era: Era,
    shape: Shape,
    mut result: Map<String, Value>,
    server: &Implementation,
) -> Map<String, Value> {
    if era != Era::Modern {
        return result;
    }
    result.insert("resultType".into(), "complete".into());
    if shape == Shape::Cacheable {
        result.insert("ttlMs".into(), 0.into());
        result.insert("cacheScope".into(), "private".into());
        result.insert(
            "_meta".into(),
            json!({ "io.modelcontextprotocol/serverInfo": server.to_value() }),
        );
    }
    result
}

/// The result of the two calls that present the server itself.
pub fn presentation(
    call: &Call,
    server: &Implementation,
    instructions: &str,
) -> Map<String, Value> {
    let mut result = Map::new();
    match call {
        Call::Initialize(version) => {
            result.insert("protocolVersion".into(), version.as_str().into());
            result.insert("capabilities".into(), capabilities());
            result.insert("serverInfo".into(), server.to_value());
        }
        _ => {
            let versions: Vec<&str> = Version::MODERN.iter().map(|v| v.as_str()).collect();
            result.insert("supportedVersions".into(), versions.into());
            result.insert("capabilities".into(), capabilities());
        }
    }
    result.insert("instructions".into(), instructions.into());
    result
}

/// The reply to a request that succeeded.
pub fn success(id: &Id, result: Map<String, Value>) -> Value {
    jsonrpc::success(id, Value::Object(result))
}

/// The reply to a request that failed.
pub fn error(id: &Id, failure: &Failure) -> Value {
    jsonrpc::failure(Some(id), failure.code, &failure.message, failure.data.clone())
}

/// An error reply when there is no request to name: the id is left out, except
/// for the one version whose rules want it to be null.
pub fn error_without_id(version: Option<Version>, failure: &Failure) -> Value {
    let mut reply = jsonrpc::failure(None, failure.code, &failure.message, failure.data.clone());
    if version != Some(Version::V2025_06_18)
        && let Some(members) = reply.as_object_mut()
    {
        members.shift_remove("id");
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Implementation {
        Implementation { name: "s".into(), version: "1".into() }
    }

    #[test]
    fn modern_results_are_dressed() {
        let bare = Map::from_iter([("tools".to_owned(), json!([]))]);
        let plain = decorate(Era::Modern, Shape::Plain, bare.clone(), &server());
        assert_eq!(Value::Object(plain), json!({"tools": [], "resultType": "complete"}));
        let cacheable = decorate(Era::Modern, Shape::Cacheable, bare.clone(), &server());
        assert_eq!(
            Value::Object(cacheable),
            json!({
                "tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
            })
        );
        let legacy = Era::Legacy(Version::V2025_11_25);
        assert_eq!(decorate(legacy, Shape::Cacheable, bare.clone(), &server()), bare);
    }

    #[test]
    fn which_calls_are_cacheable() {
        let tool = Call::CallTool { name: "t".into(), arguments: Map::new() };
        for call in [Call::Ping, tool, Call::Initialize(Version::V2025_06_18)] {
            assert_eq!(call.shape(), Shape::Plain, "{call:?}");
        }
        let read = Call::ReadResource { uri: "u".into() };
        let lists = [Call::ListTools, Call::ListResources, Call::ListResourceTemplates];
        for call in lists.into_iter().chain([Call::Discover, read]) {
            assert_eq!(call.shape(), Shape::Cacheable, "{call:?}");
        }
    }

    #[test]
    fn presentations() {
        let hello = presentation(&Call::Initialize(Version::V2025_06_18), &server(), "use help");
        assert_eq!(
            Value::Object(hello),
            json!({
                "protocolVersion": "2025-06-18", "capabilities": capabilities(),
                "serverInfo": {"name": "s", "version": "1"}, "instructions": "use help",
            })
        );
        let discovery = presentation(&Call::Discover, &server(), "use help");
        assert_eq!(
            Value::Object(discovery),
            json!({
                "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
                "instructions": "use help",
            })
        );
    }

    #[test]
    fn errors_without_a_request() {
        let failure = Failure::parse_error("bad");
        let bare = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}"#;
        let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}"#;
        assert_eq!(error_without_id(None, &failure).to_string(), bare);
        assert_eq!(error_without_id(Some(Version::V2025_11_25), &failure).to_string(), bare);
        assert_eq!(error_without_id(Some(Version::V2025_06_18), &failure).to_string(), null);
    }

    #[test]
    fn unknown_resources_differ_by_era() {
        let modern = Failure::unknown_resource(Era::Modern, "u");
        let legacy = Failure::unknown_resource(Era::Legacy(Version::V2025_06_18), "u");
        assert_eq!((modern.code, modern.http_status), (-32602, 400));
        assert_eq!((legacy.code, legacy.http_status), (-32002, 404));
        assert_eq!(modern.data, Some(json!({"uri": "u"})));
        assert_eq!(legacy.data, modern.data);
    }
}
