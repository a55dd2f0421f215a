use super::{Address, NotAnAddress};

fn parsed(text: &str) -> Result<String, String> {
    text.parse::<Address>().map(|it| it.to_string()).map_err(|error| error.to_string())
}

#[test]
fn every_way_to_write_an_address_of_this_machine() {
    let same = [
        ("unix:/run/codex.sock", "unix:/run/codex.sock"),
        ("unix:///run/codex.sock", "unix:/run/codex.sock"),
        ("unix:codex.sock", "unix:codex.sock"),
        ("ws://127.0.0.1:4500", "ws://127.0.0.1:4500"),
        ("ws://127.0.0.1:4500/", "ws://127.0.0.1:4500"),
        ("ws://localhost:4500", "ws://127.0.0.1:4500"),
        ("ws://127.8.0.9:1", "ws://127.8.0.9:1"),
        ("ws://[::1]:4500", "ws://[::1]:4500"),
    ];
    for (text, shown) in same {
        assert_eq!(parsed(text), Ok(shown.to_owned()), "{text}");
        assert_eq!(parsed(shown), Ok(shown.to_owned()), "{shown}");
    }
}

#[test]
fn what_is_no_address_is_refused_with_the_reason() {
    let wrong = [
        ("", NotAnAddress::Unknown(String::new())),
        ("/run/codex.sock", NotAnAddress::Unknown("/run/codex.sock".to_owned())),
        ("http://127.0.0.1:1", NotAnAddress::Unknown("http://127.0.0.1:1".to_owned())),
        ("unix:", NotAnAddress::NoPath),
        ("unix://", NotAnAddress::NoPath),
        ("wss://127.0.0.1:4500", NotAnAddress::Tls),
        ("ws://example.org:4500", NotAnAddress::Elsewhere("example.org".to_owned())),
        ("ws://192.168.1.4:4500", NotAnAddress::Elsewhere("192.168.1.4".to_owned())),
        ("ws://0.0.0.0:4500", NotAnAddress::Elsewhere("0.0.0.0".to_owned())),
        ("ws://127.0.0.1", NotAnAddress::NoPort("ws://127.0.0.1".to_owned())),
        ("ws://127.0.0.1:0", NotAnAddress::NoPort("ws://127.0.0.1:0".to_owned())),
        ("ws://127.0.0.1:99999", NotAnAddress::NoPort("ws://127.0.0.1:99999".to_owned())),
        ("ws://[::1]", NotAnAddress::NoPort("ws://[::1]".to_owned())),
        ("ws://127.0.0.1:4500/rpc", NotAnAddress::Path("ws://127.0.0.1:4500/rpc".to_owned())),
    ];
    for (text, why) in wrong {
        assert_eq!(text.parse::<Address>(), Err(why), "{text}");
    }
}
