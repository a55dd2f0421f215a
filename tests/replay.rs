//! Recorded Codex on one side, a model of the client's belief on the other, our bridge between.

#[path = "replay/client.rs"]
mod client;
#[path = "replay/golden.rs"]
mod golden;
#[path = "replay/property.rs"]
mod property;
#[path = "replay/reach.rs"]
mod reach;
#[path = "replay/recording.rs"]
mod recording;
#[path = "replay/scene.rs"]
mod scene;
#[path = "replay/server.rs"]
mod server;
#[path = "replay/service.rs"]
mod service;
#[path = "replay/shelf.rs"]
mod shelf;
#[path = "replay/standing.rs"]
mod standing;
#[path = "replay/story.rs"]
mod story;
#[path = "replay/thread.rs"]
mod thread;
#[path = "replay/values.rs"]
mod values;
#[path = "replay/verdicts.rs"]
mod verdicts;
#[path = "replay/view.rs"]
mod view;
#[path = "replay/watches.rs"]
mod watches;
#[path = "replay/world.rs"]
mod world;
