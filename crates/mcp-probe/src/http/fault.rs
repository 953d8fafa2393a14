//! What can be wrong with an HTTP answer beyond its status.

/// The fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpFault {
    /// Not HTTP, or the body broke off.
    #[error("{0}")]
    Broken(String),
    /// Redirected in a circle, or too often.
    #[error("redirects do not end: {}", .0.join(" -> "))]
    RedirectLoop(Vec<String>),
    /// Redirected to another origin, which is not followed: headers could leak.
    #[error("redirected to another origin: {0}")]
    ForeignRedirect(String),
    /// The old transport names an endpoint at another origin.
    #[error("the endpoint is at another origin: {0}")]
    ForeignEndpoint(String),
    /// The event stream did not name an endpoint.
    #[error("{0}")]
    NoEndpoint(String),
}
