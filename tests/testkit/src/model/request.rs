//! A request that Codex sent for a response.

use serde_json::Value;

use super::conversation;

/// A request for a response, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The Codex thread that asks, by its request header.
    pub thread: Option<String>,
    /// Its header `Authorization`.
    pub authorization: Option<String>,
    /// The JSON body of the Responses API.
    pub body: Value,
}

impl Request {
    /// The text of all messages of users and other agents in the conversation, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<&str> {
        conversation::messages(self.input())
    }

    /// The text of all tool outputs in the conversation, oldest first.
    #[must_use]
    pub fn outputs(&self) -> Vec<&str> {
        conversation::outputs(self.input())
    }

    /// The items of the conversation.
    #[must_use]
    pub fn input(&self) -> &[Value] {
        self.body["input"].as_array().map_or(&[], Vec::as_slice)
    }
}
