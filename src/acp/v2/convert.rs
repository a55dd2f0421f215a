//! The core's words as the v2 schema's values.

use crate::acp::{image, patch};
use crate::core::update::{
    CallContent, Command, ConfigOption, Content, Diff, DiffOp, Location, OpenStatus, OptionCategory, ToolKind,
};
use agent_client_protocol_schema::v2;
use std::path::Path;

pub(crate) fn block(content: &Content) -> v2::ContentBlock {
    match content {
        Content::Text(text) => text_block(text),
        Content::Link { name, uri } => v2::ContentBlock::ResourceLink(v2::ResourceLink::new(name, uri)),
        Content::Image { url } => match image::from_url(url) {
            Some((mime, data)) => v2::ContentBlock::Image(v2::ImageContent::new(data, mime)),
            // ACP carries image data only; anything else can at least be opened.
            None => v2::ContentBlock::ResourceLink(v2::ResourceLink::new("image", url)),
        },
    }
}

pub(crate) fn text_block(text: &str) -> v2::ContentBlock {
    v2::ContentBlock::Text(v2::TextContent::new(text))
}

pub(crate) fn contents(items: &[CallContent]) -> Vec<v2::ToolCallContent> {
    items
        .iter()
        .flat_map(|item| {
            let note = match item {
                CallContent::Diff(it) => it.left_out.map(|n_bytes| patch::left_out(it, n_bytes)),
                CallContent::Text(_)
                | CallContent::Image { .. }
                | CallContent::Terminal(_)
                | CallContent::Session(_) => None,
            };
            let item = match item {
                CallContent::Text(text) => text_content(text),
                CallContent::Image { url } => {
                    let image = block(&Content::Image { url: url.clone() });
                    v2::ToolCallContent::Content(Box::new(v2::Content::new(image)))
                }
                CallContent::Diff(it) => v2::ToolCallContent::Diff(diff(it)),
                CallContent::Terminal(id) => v2::ToolCallContent::Terminal(v2::Terminal::new(id.as_str())),
                CallContent::Session(id) => {
                    v2::ToolCallContent::Session(v2::SessionReference::new(id.as_str()))
                }
            };
            std::iter::once(item).chain(note.as_deref().map(text_content))
        })
        .collect()
}

fn text_content(text: &str) -> v2::ToolCallContent {
    v2::ToolCallContent::Content(Box::new(v2::Content::new(text_block(text))))
}

fn diff(diff: &Diff) -> v2::Diff {
    let path = || v2::DiffPathChange::new(diff.path.as_str());
    let operation = match &diff.op {
        DiffOp::Add => v2::DiffChangeOperation::Add(path()),
        DiffOp::Delete => v2::DiffChangeOperation::Delete(path()),
        DiffOp::Modify => v2::DiffChangeOperation::Modify(path()),
        DiffOp::Move(target) => {
            v2::DiffChangeOperation::Move(v2::DiffPathPairChange::new(diff.path.as_str(), target.as_str()))
        }
    };
    let mut wire = v2::Diff::new(vec![v2::DiffChange::new(operation)]);
    if diff.left_out.is_none() {
        wire.patch = patch::git_patch(diff).map(v2::DiffPatch::new);
    }
    wire
}

/// Every path of v2 is absolute, so that a relative location cannot be said.
pub(crate) fn locations(items: &[Location]) -> Vec<v2::ToolCallLocation> {
    items
        .iter()
        .filter(|it| Path::new(&it.path).is_absolute())
        .map(|it| v2::ToolCallLocation::new(it.path.as_str()).line(it.line))
        .collect()
}

pub(crate) fn kind(kind: ToolKind) -> v2::ToolKind {
    match kind {
        ToolKind::Read => v2::ToolKind::Read,
        ToolKind::Edit => v2::ToolKind::Edit,
        ToolKind::Delete => v2::ToolKind::Delete,
        ToolKind::Move => v2::ToolKind::Move,
        ToolKind::Search => v2::ToolKind::Search,
        ToolKind::Execute => v2::ToolKind::Execute,
        ToolKind::Think => v2::ToolKind::Think,
        ToolKind::Fetch => v2::ToolKind::Fetch,
        ToolKind::Other => v2::ToolKind::Other,
    }
}

pub(crate) fn open_status(status: OpenStatus) -> v2::ToolCallStatus {
    match status {
        OpenStatus::Pending => v2::ToolCallStatus::Pending,
        OpenStatus::InProgress => v2::ToolCallStatus::InProgress,
        OpenStatus::Paused => v2::ToolCallStatus::Paused,
    }
}

pub(crate) fn commands(commands: &[Command]) -> Vec<v2::AvailableCommand> {
    commands
        .iter()
        .map(|it| {
            let input = it.hint.map(|hint| v2::AvailableCommandInput::Text(v2::TextCommandInput::new(hint)));
            v2::AvailableCommand::Command(v2::Command::new(&it.name, &it.description).input(input))
        })
        .collect()
}

/// An option without any value to choose is left out: a select must have one.
pub(crate) fn options(options: &[ConfigOption]) -> Vec<v2::SessionConfigOption> {
    options
        .iter()
        .filter(|it| !it.values.is_empty())
        .map(|it| {
            let values: Vec<_> = it
                .values
                .iter()
                .map(|value| {
                    v2::SessionConfigSelectOption::new(value.value.as_str(), &value.name)
                        .description(value.description.clone())
                })
                .collect();
            let select = v2::SessionConfigSelect::new(
                it.current.as_str(),
                v2::SessionConfigSelectOptions::Ungrouped(values),
            );
            v2::SessionConfigOption::new(it.id, it.name, v2::SessionConfigKind::Select(select))
                .description(it.description.map(str::to_owned))
                .category(it.category.map(|category| match category {
                    OptionCategory::Mode => v2::SessionConfigOptionCategory::Mode,
                    OptionCategory::Model => v2::SessionConfigOptionCategory::Model,
                    OptionCategory::ThoughtLevel => v2::SessionConfigOptionCategory::ThoughtLevel,
                }))
        })
        .collect()
}
