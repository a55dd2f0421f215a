//! What a name says of its value, however it is spelled.

/// The kinds of names there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Plain,
    /// Its value is a secret, wherever it stands.
    Secret,
    /// Its value is a secret in a URL or as a flag; elsewhere it is an everyday word.
    Vague,
    /// The header with a scheme before its secret.
    Authorization,
    /// A scheme, wherever it stands.
    Bearer,
    /// A scheme, or an everyday word.
    Basic,
    /// `env` and `headers`: names to values, or a list of `{name, value}`.
    Table,
}

const ENDINGS: [&[u8]; 10] = [
    b"apikey",
    b"token",
    b"secret",
    b"password",
    b"passwd",
    b"passphrase",
    b"privatekey",
    b"secretkey",
    b"accesskey",
    b"credentials",
];

const VAGUE: [&[u8]; 8] = [b"key", b"pass", b"pwd", b"pw", b"sig", b"signature", b"auth", b"credential"];

/// Longer names are cut at their start: it is their end that counts.
const MAX: usize = 32;

impl Name {
    /// Reads a name; case, dashes, underscores and the like do not matter.
    pub(super) fn of(name: &[u8]) -> Self {
        let mut buffer = [0; MAX];
        let mut at = MAX;
        for byte in name.iter().rev().filter(|byte| byte.is_ascii_alphanumeric()).take(MAX) {
            at -= 1;
            buffer[at] = byte.to_ascii_lowercase();
        }
        match &buffer[at..] {
            b"env" | b"headers" | b"httpheaders" => Self::Table,
            b"authorization" | b"proxyauthorization" => Self::Authorization,
            b"bearer" => Self::Bearer,
            b"basic" => Self::Basic,
            b"cookie" | b"setcookie" => Self::Secret,
            plain if ENDINGS.iter().any(|ending| plain.ends_with(ending)) => Self::Secret,
            plain if VAGUE.contains(&plain) => Self::Vague,
            _ => Self::Plain,
        }
    }
}
