//! A played login server of `OpenAI` on loopback: device codes, pages, tokens, and the workspace check.
//!
//! Knows one account, whose tokens are made here and mean nothing. Says yes when the test does.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The code that a device login shows.
pub const USER_CODE: &str = "ABCD-1234";
/// Part of every token: where it is found, a token was written down.
pub const TOKEN_MARK: &str = "c2lnbmVkLWJ5LW5vYm9keQ";

/// A running login server. Dropping it ends it.
#[derive(Debug)]
pub struct Issuer {
    address: SocketAddr,
    is_granted: Arc<AtomicBool>,
    _stop: oneshot::Sender<()>,
}

impl Issuer {
    /// Listens on a free port of 127.0.0.1. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("bind the login server")?;
        let address = listener.local_addr()?;
        let is_granted = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(serve(listener, Arc::clone(&is_granted), stopped));
        Ok(Self { address, is_granted, _stop: stop })
    }

    /// The variable that sends the app-server here.
    #[must_use]
    pub fn env(&self) -> (&'static str, String) {
        ("CODEX_APP_SERVER_LOGIN_ISSUER", format!("http://{}", self.address))
    }

    /// The line of the configuration that sends it here for the workspace of the account.
    #[must_use]
    pub fn config(&self) -> String {
        format!("chatgpt_base_url = \"http://{}/backend-api\"", self.address)
    }

    /// Somebody has entered the code.
    pub fn grant(&self) {
        self.is_granted.store(true, Ordering::Relaxed);
    }
}

async fn serve(listener: TcpListener, is_granted: Arc<AtomicBool>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        let socket = tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => continue,
            Ok((socket, _)) = listener.accept() => socket,
        };
        let is_granted = Arc::clone(&is_granted);
        connections.spawn(async move {
            let service = service_fn(move |request: hyper::Request<_>| {
                let answer = answer(request.uri().path(), is_granted.load(Ordering::Relaxed));
                async move { Ok::<_, Infallible>(answer) }
            });
            // Codex hanging up is no matter.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
    connections.shutdown().await;
}

fn answer(path: &str, is_granted: bool) -> Response<Full<Bytes>> {
    let (status, body) = match path {
        "/api/accounts/deviceauth/usercode" => {
            (StatusCode::OK, json!({"device_auth_id": "device", "user_code": USER_CODE, "interval": "1"}))
        }
        "/api/accounts/deviceauth/token" if is_granted => (
            StatusCode::OK,
            json!({"authorization_code": "code", "code_challenge": "challenge", "code_verifier": "verifier"}),
        ),
        "/api/accounts/deviceauth/token" => (StatusCode::FORBIDDEN, json!({})),
        "/oauth/token" => {
            (StatusCode::OK, json!({"id_token": token(), "access_token": token(), "refresh_token": token()}))
        }
        "/backend-api/wham/accounts/check" => (
            StatusCode::OK,
            json!({
                "accounts": [{
                    "id": "account", "plan_type": "pro", "is_deactivated": false, "structure": "personal",
                    // Nobody listens there; Codex wants an origin with TLS.
                    "workspace_backend_origin": "https://127.0.0.1:9", "account_routing_override": "NO_CONSTRAINT",
                }],
                "default_account_id": "account",
                "account_ordering": ["account"],
            }),
        ),
        _ => (StatusCode::NOT_FOUND, json!({})),
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    response
}

/// A token with the claims that Codex reads, valid until 2100 and signed by nobody.
fn token() -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({
        "email": "user@example.com",
        "exp": 4_102_444_800_u64,
        "https://api.openai.com/auth": {
            "chatgpt_plan_type": "pro", "chatgpt_account_id": "account", "chatgpt_user_id": "user",
        },
    });
    format!("{}.{}.{TOKEN_MARK}", part(json!({"alg": "none", "typ": "JWT"})), part(claims))
}
