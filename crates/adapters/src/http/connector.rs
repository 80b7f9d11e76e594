//! Connections to services: straight, or through the proxy that the environment names.

use std::{
    error::Error,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::{Uri, http::uri::Scheme};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::{
        legacy::connect::{HttpConnector, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

/// How long a connection may take to be made.
const CONNECTING: Duration = Duration::from_secs(15);

type Failed = Box<dyn Error + Send + Sync>;

/// Why no connections can be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    #[error("failed to read the certificates that this machine trusts")]
    Certificates(#[source] io::Error),
    #[error("failed to prepare encrypted connections")]
    Encryption(#[from] rustls::Error),
}

/// Prepares connections; only encrypted ones go through a proxy.
pub fn connector(is_encrypted: bool) -> Result<HttpsConnector<Connector>, ConnectorError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    // Reading what the machine trusts takes milliseconds; without encryption it is of no use.
    let config = if is_encrypted {
        config.with_native_roots().map_err(ConnectorError::Certificates)?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    let builder = HttpsConnectorBuilder::new().with_tls_config(config.with_no_client_auth());
    let plain = Connector::through(Matcher::from_env());
    Ok(builder.https_or_http().enable_http1().wrap_connector(plain))
}

/// Connects to a host. An encrypted one is reached through `HTTPS_PROXY` or `ALL_PROXY`, unless `NO_PROXY` names it.
#[derive(Clone, Debug)]
pub struct Connector {
    straight: HttpConnector,
    proxies: Arc<Matcher>,
}

impl Connector {
    fn through(proxies: Matcher) -> Self {
        let mut straight = HttpConnector::new();
        straight.enforce_http(false);
        straight.set_nodelay(true);
        straight.set_connect_timeout(Some(CONNECTING));
        Self { straight, proxies: Arc::new(proxies) }
    }

    fn proxy(&self, to: &Uri) -> Option<Intercept> {
        self.proxies.intercept(to).filter(|_| to.scheme() == Some(&Scheme::HTTPS))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failed>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.straight.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxy(&to) else {
            let connecting = self.straight.call(to);
            return Box::pin(async { Ok(connecting.await?) });
        };
        if proxy.uri().scheme() != Some(&Scheme::HTTP) {
            let scheme = proxy.uri().scheme_str().unwrap_or_default().to_owned();
            let words =
                format!("the proxy in the environment is a `{scheme}` one; only `http://` can be used");
            return Box::pin(async { Err(words.into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.straight.clone());
        if let Some(secret) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(secret.clone());
        }
        let connecting = tunnel.call(to);
        let by = proxy.uri().authority().map(ToString::to_string).unwrap_or_default();
        Box::pin(async move {
            match timeout(CONNECTING, connecting).await {
                Ok(Ok(stream)) => Ok(stream),
                Ok(Err(error)) => Err(format!("through the proxy {by}: {error}").into()),
                Err(_) => Err(format!("the proxy {by} has not answered").into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        io::{BufRead as _, BufReader, Write as _},
        net::{Ipv4Addr, SocketAddr, TcpListener},
        thread::JoinHandle,
    };

    use hyper::rt::Write as _;

    use super::*;

    /// A company's proxy for one connection: says this after the head of the request. All that it heard is returned.
    fn company(says: &'static str) -> (SocketAddr, JoinHandle<String>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heard = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let mut heard: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            stream.write_all(says.as_bytes()).unwrap();
            heard.extend(lines);
            heard.join("\n")
        });
        (address, heard)
    }

    /// Connects, and says hello to whoever is at the other end.
    fn greet(way: &mut Connector, to: &'static str) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut stream = way.call(Uri::from_static(to)).await.map_err(|error| error.to_string())?;
            let written = poll_fn(|context| Pin::new(&mut stream).poll_write(context, b"hello")).await;
            assert_eq!(written.unwrap(), 5);
            Ok(())
        })
    }

    #[test]
    fn an_encrypted_host_is_reached_through_the_proxy_that_is_named() {
        let (address, heard) = company("HTTP/1.1 200 OK\r\n\r\n");
        let matcher = Matcher::builder().https(format!("http://me:secret@{address}")).build();
        greet(&mut Connector::through(matcher), "https://api.test/v1").unwrap();
        let heard = heard.join().unwrap();
        assert!(
            heard.starts_with("CONNECT api.test:443 HTTP/1.1\n") && heard.ends_with("\nhello"),
            "{heard}"
        );
        assert!(heard.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\n"), "{heard}");
    }

    #[test]
    fn a_proxy_that_refuses_is_named() {
        let (address, heard) = company("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        let matcher = Matcher::builder().https(format!("http://{address}")).build();
        let error = greet(&mut Connector::through(matcher), "https://api.test/").unwrap_err();
        assert!(error.starts_with(&format!("through the proxy {address}: ")), "{error}");
        heard.join().unwrap();
    }

    #[test]
    fn exceptions_plain_hosts_and_proxies_of_another_kind() {
        let way = |proxy: &str| Connector::through(Matcher::builder().all(proxy).no("inside.test").build());
        let company = way("http://127.0.0.1:1");
        assert!(company.proxy(&Uri::from_static("https://api.test/")).is_some());
        assert!(company.proxy(&Uri::from_static("https://a.inside.test/")).is_none());
        assert!(company.proxy(&Uri::from_static("http://api.test/")).is_none());
        let error = greet(&mut way("socks5://127.0.0.1:1"), "https://api.test/").unwrap_err();
        assert_eq!(error, "the proxy in the environment is a `socks5` one; only `http://` can be used");
    }
}
