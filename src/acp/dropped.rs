//! Why an update did not become a line.

/// Reason for an update that is not on the wire (yet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// Nobody has initialized yet.
    NotInitialized,
    /// This protocol version has no such update.
    NoSuchUpdate,
    /// The client did not declare the capability.
    Undeclared,
    /// v1: waits for its terminal, which is the next update, and goes out together with it.
    HeldForTerminal,
    /// v1: the whole text is what was streamed already.
    AlreadySent,
    /// It belongs to a tool call that was never opened here, or is closed.
    UnknownCall,
    /// It changes nothing.
    Empty,
    /// It made a line that no client takes.
    TooLarge,
}
