//! The HTTP side: accepts connections, reads requests, answers with what the desk decides.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::desk::Desk;
use super::request::Request;
use super::script::{Action, Failure, Step};
use super::stream;

type Desks = Arc<watch::Sender<Desk>>;
type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Serves until the other end of `stopped` is dropped, then ends every connection.
pub(super) async fn serve(listener: TcpListener, desk: Desks, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(connection(socket, Arc::clone(&desk)));
                }
                Err(error) => desk.send_modify(|desk| desk.errors.push(format!("accept: {error}"))),
            },
        }
    }
    connections.shutdown().await;
}

async fn connection(socket: TcpStream, desk: Desks) {
    // Without it a small event could wait for the acknowledgement of the one before; it then only gets slower.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(answer(request, &desk).await) }
    });
    // An error is Codex hanging up, or a script that cuts the connection: both are counted by the stream.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

async fn answer(request: hyper::Request<Incoming>, desk: &Desks) -> Answer {
    if request.method() == Method::GET {
        return json_answer(StatusCode::OK, &json!({"object": "list", "data": [], "models": []}));
    }
    if !request.uri().path().trim_end_matches('/').ends_with("/responses") {
        return json_answer(StatusCode::NOT_FOUND, &json!({}));
    }
    match read(request).await {
        Ok(request) => respond(request, desk).await,
        Err(error) => {
            desk.send_modify(|desk| desk.errors.push(error.clone()));
            json_answer(StatusCode::BAD_REQUEST, &error_body(&error))
        }
    }
}

async fn read(request: hyper::Request<Incoming>) -> Result<Request, String> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map_err(|error| format!("read a request: {error}"))?.to_bytes();
    let body: Value = serde_json::from_slice(&bytes).map_err(|error| format!("parse a request: {error}"))?;
    let thread = thread(&head.headers).or_else(|| Some(body["prompt_cache_key"].as_str()?.to_owned()));
    let authorization = head.headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok()).map(str::to_owned);
    Ok(Request { thread, authorization, body })
}

async fn respond(request: Request, desk: &Desks) -> Answer {
    let mut step = Step::default();
    desk.send_modify(|desk| step = desk.answer(request));
    if let Some(failure) = step.0.iter().find_map(as_failure) {
        for action in step.0.iter().take_while(|it| as_failure(it).is_none()) {
            stream::pass(desk, action).await;
        }
        let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = failure.body.clone().unwrap_or_else(|| error_body("scripted error"));
        return json_answer(status, &body);
    }
    let headers: Vec<_> = step.0.iter().filter_map(as_header).collect();
    let events = StreamBody::new(stream::events(Arc::clone(desk), step));
    let mut answer = Response::new(events.boxed_unsync());
    answer.headers_mut().extend(headers);
    let event_stream = hyper::header::HeaderValue::from_static("text/event-stream");
    answer.headers_mut().insert(CONTENT_TYPE, event_stream);
    answer
}

fn as_header(action: &Action) -> Option<(HeaderName, HeaderValue)> {
    match action {
        Action::Header(name, value) => {
            let name = name.parse().expect("a script has good names of headers");
            Some((name, value.parse().expect("a script has good values of headers")))
        }
        Action::Say(_)
        | Action::Reason(_)
        | Action::Call(_)
        | Action::Custom(_)
        | Action::WaitMs(_)
        | Action::Gate(_)
        | Action::Http(_)
        | Action::EndTurn(_)
        | Action::Cut
        | Action::Fail(_)
        | Action::Item(_) => None,
    }
}

fn as_failure(action: &Action) -> Option<&Failure> {
    match action {
        Action::Http(failure) => Some(failure),
        Action::Say(_)
        | Action::Reason(_)
        | Action::Call(_)
        | Action::Custom(_)
        | Action::WaitMs(_)
        | Action::Gate(_)
        | Action::EndTurn(_)
        | Action::Cut
        | Action::Fail(_)
        | Action::Header(..)
        | Action::Item(_) => None,
    }
}

fn thread(headers: &HeaderMap) -> Option<String> {
    ["thread-id", "session_id", "session-id", "conversation_id"]
        .iter()
        .find_map(|name| Some(headers.get(*name)?.to_str().ok()?.to_owned()))
}

fn error_body(message: &str) -> Value {
    json!({"error": {"message": message, "type": "server_error"}})
}

fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    let json = hyper::header::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}
