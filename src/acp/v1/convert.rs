//! The core's words as the v1 schema's values.

use super::view::{CallView, Display, mode_option};
use crate::acp::{image, patch};
use crate::core::update::{
    CallContent, Command, ConfigOption, Content, Diff, DiffOp, FinalStatus, Location, OpenStatus,
    OptionCategory, ToolKind,
};
use agent_client_protocol_schema::v1;
use std::path::Path;
use std::sync::Arc;

/// The schema's v1 ids take owned text only.
pub(crate) fn id(text: &str) -> Arc<str> {
    text.into()
}

pub(crate) fn block(content: &Content) -> v1::ContentBlock {
    match content {
        Content::Text(text) => text_block(text),
        Content::Link { name, uri } => v1::ContentBlock::ResourceLink(v1::ResourceLink::new(name, uri)),
        Content::Image { url } => match image::from_url(url) {
            Some((mime, data)) => v1::ContentBlock::Image(v1::ImageContent::new(data, mime)),
            // ACP carries image data only; anything else can at least be opened.
            None => v1::ContentBlock::ResourceLink(v1::ResourceLink::new("image", url)),
        },
    }
}

pub(crate) fn text_block(text: &str) -> v1::ContentBlock {
    v1::ContentBlock::Text(v1::TextContent::new(text))
}

pub(crate) fn text_content(text: &str) -> v1::ToolCallContent {
    v1::ToolCallContent::Content(v1::Content::new(text_block(text)))
}

/// The whole content of a call, its terminal in the way that this client sees it.
pub(crate) fn contents(view: &CallView) -> Vec<v1::ToolCallContent> {
    let mut contents = Vec::new();
    let mut room = HUNKS_MAX;
    for item in &view.content {
        match (item, &view.display) {
            (CallContent::Text(text), _) => contents.push(text_content(text)),
            (CallContent::Image { url }, _) => {
                let image = block(&Content::Image { url: url.clone() });
                contents.push(v1::ToolCallContent::Content(v1::Content::new(image)));
            }
            (CallContent::Diff(it), _) => diff(it, &mut room, &mut contents),
            (CallContent::Terminal(terminal), Display::Live { .. }) => {
                contents.push(v1::ToolCallContent::Terminal(v1::Terminal::new(id(terminal.as_str()))))
            }
            (CallContent::Session(session), _) => contents.push(v1::ToolCallContent::Session(
                v1::SessionReference::new(v1::SessionId::new(id(session.as_str()))),
            )),
            (CallContent::Terminal(_), Display::Text(tail)) => {
                contents.extend(tail.markdown().as_deref().map(text_content));
            }
        }
    }
    contents
}

/// Most bytes of one line that the frames of hunks take: each names its file anew.
const HUNKS_MAX: usize = 4 << 20;

/// What JSON has around one hunk, but for the name of its file.
const HUNK: usize = 128;

/// v1 shows old and new text; Codex gives hunks, so that each hunk is one diff of its file.
fn diff(diff: &Diff, room: &mut usize, contents: &mut Vec<v1::ToolCallContent>) {
    if let Some(n_bytes) = diff.left_out {
        return contents.push(text_content(&patch::left_out(diff, n_bytes)));
    }
    let n_hunks = match &diff.op {
        DiffOp::Add | DiffOp::Delete => 1,
        DiffOp::Modify | DiffOp::Move(_) => 1 + diff.text.matches("\n@@").count(),
    };
    let frames = n_hunks * (HUNK + 6 * diff.path.len());
    match room.checked_sub(frames) {
        Some(left) => *room = left,
        None => return contents.push(text_content(&patch::left_out(diff, diff.text.len()))),
    }
    let mut push = |path: &str, old: Option<String>, new: String| {
        contents.push(v1::ToolCallContent::Diff(v1::Diff::new(path, new).old_text(old)));
    };
    let hunks = || patch::hunks(&diff.text);
    match &diff.op {
        DiffOp::Add => push(&diff.path, None, diff.text.clone()),
        DiffOp::Delete => push(&diff.path, Some(diff.text.clone()), String::new()),
        DiffOp::Modify => match hunks() {
            Some(hunks) => hunks.iter().map(patch::Hunk::sides).for_each(|(old, new)| {
                push(&diff.path, Some(old), new);
            }),
            None => contents.push(text_content(&format!("Changed {}", diff.path))),
        },
        DiffOp::Move(target) => {
            hunks().iter().flatten().map(patch::Hunk::sides).for_each(|(old, new)| {
                push(target, Some(old), new);
            });
            contents.push(text_content(&format!("Moved {} to {target}", diff.path)));
        }
    }
}

pub(crate) fn locations(items: &[Location]) -> Vec<v1::ToolCallLocation> {
    items
        .iter()
        .filter(|it| Path::new(&it.path).is_absolute())
        .map(|it| v1::ToolCallLocation::new(it.path.as_str()).line(it.line))
        .collect()
}

pub(crate) fn kind(kind: ToolKind) -> v1::ToolKind {
    match kind {
        ToolKind::Read => v1::ToolKind::Read,
        ToolKind::Edit => v1::ToolKind::Edit,
        ToolKind::Delete => v1::ToolKind::Delete,
        ToolKind::Move => v1::ToolKind::Move,
        ToolKind::Search => v1::ToolKind::Search,
        ToolKind::Execute => v1::ToolKind::Execute,
        ToolKind::Think => v1::ToolKind::Think,
        ToolKind::Fetch => v1::ToolKind::Fetch,
        ToolKind::Other => v1::ToolKind::Other,
    }
}

pub(crate) fn open_status(status: OpenStatus) -> v1::ToolCallStatus {
    match status {
        OpenStatus::Pending => v1::ToolCallStatus::Pending,
        // v1 has no word for it, and nothing goes back to pending.
        OpenStatus::InProgress | OpenStatus::Paused => v1::ToolCallStatus::InProgress,
    }
}

pub(crate) fn compaction_status(end: Option<FinalStatus>) -> v1::CompactionStatus {
    match end {
        None => v1::CompactionStatus::InProgress,
        Some(FinalStatus::Completed) => v1::CompactionStatus::Completed,
        Some(FinalStatus::Failed) => v1::CompactionStatus::Failed,
        Some(FinalStatus::Cancelled) => v1::CompactionStatus::Cancelled,
    }
}

pub(crate) fn commands(commands: &[Command]) -> Vec<v1::AvailableCommand> {
    commands
        .iter()
        .map(|it| {
            let input = it
                .hint
                .map(|hint| v1::AvailableCommandInput::Unstructured(v1::UnstructuredCommandInput::new(hint)));
            v1::AvailableCommand::new(&it.name, &it.description).input(input)
        })
        .collect()
}

/// The mode option as v1's own modes.
pub(crate) fn modes(options: &[ConfigOption]) -> Option<v1::SessionModeState> {
    let option = mode_option(options)?;
    let modes = option
        .values
        .iter()
        .map(|it| v1::SessionMode::new(id(&it.value), &it.name).description(it.description.clone()))
        .collect();
    Some(v1::SessionModeState::new(id(&option.current), modes))
}

/// An option without any value to choose is left out: there is nothing to show.
pub(crate) fn options(options: &[ConfigOption]) -> Vec<v1::SessionConfigOption> {
    options
        .iter()
        .filter(|it| !it.values.is_empty())
        .map(|it| {
            let values: Vec<_> = it
                .values
                .iter()
                .map(|value| {
                    v1::SessionConfigSelectOption::new(id(&value.value), &value.name)
                        .description(value.description.clone())
                })
                .collect();
            let select = v1::SessionConfigSelect::new(
                id(&it.current),
                v1::SessionConfigSelectOptions::Ungrouped(values),
            );
            v1::SessionConfigOption::new(it.id, it.name, v1::SessionConfigKind::Select(select))
                .description(it.description.map(str::to_owned))
                .category(it.category.map(|category| match category {
                    OptionCategory::Mode => v1::SessionConfigOptionCategory::Mode,
                    OptionCategory::Model => v1::SessionConfigOptionCategory::Model,
                    OptionCategory::ThoughtLevel => v1::SessionConfigOptionCategory::ThoughtLevel,
                }))
        })
        .collect()
}
