//! What the way to a server needs: certificate authorities of one's own, proxies. Chosen
//! once for a run, by flags and by the variables that other clients heed as well.

use super::url::Url;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Variables that name a file of certificate authorities.
const CA_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// The network of a run.
#[derive(Debug, Default)]
pub struct Network {
    /// Further certificate authorities, or certificates of servers.
    authorities: Vec<CertificateDer<'static>>,
    /// Whether certificates are not checked at all.
    insecure: bool,
    /// A proxy for everything.
    proxy: Option<Url>,
}

static CHOSEN: OnceLock<Network> = OnceLock::new();

/// The network that was chosen; without a choice that of the environment.
pub fn network() -> &'static Network {
    CHOSEN.get_or_init(|| Network::new(None, false, None).unwrap_or_default())
}

/// Chooses the network of this run. Only the first choice counts.
pub fn choose(network: Network) {
    let _ = CHOSEN.set(network);
}

impl Network {
    /// From flags: a PEM file, whether to trust anybody, and the address of a proxy.
    pub fn new(ca: Option<&Path>, insecure: bool, proxy: Option<&str>) -> Result<Network, String> {
        let mut authorities = Vec::new();
        if let Some(path) = ca {
            authorities.extend(read_pem(path)?);
        }
        for path in CA_VARIABLES.iter().filter_map(std::env::var_os).map(PathBuf::from) {
            // What others set is heeded if it can be.
            authorities.extend(read_pem(&path).unwrap_or_default());
        }
        let proxy = proxy.map(proxy_url).transpose()?;
        Ok(Network { authorities, insecure, proxy })
    }

    /// The proxy on the way to `url`, if there is one.
    pub fn proxy_for(&self, url: &Url) -> Option<Url> {
        if let Some(proxy) = &self.proxy {
            return Some(proxy.clone());
        }
        let variable = |name: &str| {
            [name.to_lowercase(), name.to_string()]
                .iter()
                .find_map(|name| std::env::var(name).ok())
                .filter(|value| !value.is_empty())
        };
        if url.is_loopback()
            || variable("NO_PROXY").is_some_and(|list| is_excluded(&list, &url.host, url.port))
        {
            return None;
        }
        let own = if url.scheme.is_tls() { "HTTPS_PROXY" } else { "HTTP_PROXY" };
        proxy_url(&variable(own).or_else(|| variable("ALL_PROXY"))?).ok()
    }

    /// How connections are encrypted.
    pub fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        roots.add_parsable_certificates(self.authorities.iter().cloned());
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| error.to_string())?;
        let verifier = Verifier {
            inner,
            known: self.authorities.clone(),
            insecure: self.insecure,
            provider: provider.clone(),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Arc::new(config))
    }
}

fn read_pem(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: String| format!("{}: {error}", path.display());
    let all: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?.collect();
    let all = all.map_err(|error| failed(error.to_string()))?;
    match all.is_empty() {
        true => Err(failed("holds no certificate in PEM".into())),
        false => Ok(all),
    }
}

/// Checks as usual, but a certificate that the user named itself is trusted as it is:
/// self-signed ones often claim to be authorities, which the usual check refuses.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    known: Vec<CertificateDer<'static>>,
    insecure: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.insecure {
            return Ok(ServerCertVerified::assertion());
        }
        let usual = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        if usual.is_err() && self.known.iter().any(|known| known.as_ref() == end_entity.as_ref()) {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            tokio_rustls::rustls::client::verify_server_name(&parsed, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        usual
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn proxy_url(text: &str) -> Result<Url, String> {
    let full = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
    Url::parse(&full)
        .filter(|url| !url.scheme.is_ws())
        .ok_or(format!("{text:?} is no address of an HTTP proxy"))
}

/// Whether a host stands in a list such as `localhost,.corp.example,10.0.0.1:8080`.
fn is_excluded(list: &str, host: &str, port: u16) -> bool {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let (name, only) = match entry.rsplit_once(':') {
            Some((name, digits)) if !name.contains(':') => (name, digits.parse::<u16>().ok()),
            _ => (entry, None),
        };
        let name = name.trim_start_matches("*.").trim_start_matches('.');
        let host = host.to_ascii_lowercase();
        let name = name.to_ascii_lowercase();
        let same = entry == "*" || host == name || host.ends_with(&format!(".{name}"));
        same && only.is_none_or(|only| only == port)
    })
}

/// The request that opens a tunnel through a proxy.
pub fn tunnel(url: &Url, proxy: &Url) -> String {
    let place = format!(
        "{}:{}",
        if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() },
        url.port
    );
    format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{}\r\n", credentials(proxy))
}

/// The header with a proxy's credentials, if its address has any.
fn credentials(proxy: &Url) -> String {
    match &proxy.user {
        Some(user) => format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(user)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_need_no_proxy() {
        let list = "localhost, .corp.example,*.lan,10.0.0.1:8080";
        for (host, port, excluded) in [
            ("localhost", 80, true),
            ("a.corp.example", 443, true),
            ("corp.example", 443, true),
            ("notcorp.example", 443, false),
            ("x.lan", 1, true),
            ("10.0.0.1", 8080, true),
            ("10.0.0.1", 80, false),
        ] {
            assert_eq!(is_excluded(list, host, port), excluded, "{host}:{port}");
        }
        assert!(is_excluded("*", "any", 1));
        assert!(!is_excluded("", "any", 1));
    }

    #[test]
    fn proxies_are_addresses() {
        assert_eq!(proxy_url("proxy:3128").unwrap().port, 3128);
        assert!(proxy_url("ws://x").is_err());
        assert!(Network::new(Some(Path::new("/no/such/file")), false, None).is_err());
    }
}
