//! What Codex tells of subagents beside the events of their own threads.

use crate::core::ids::ThreadId;

/// What a tool call has to do with subagents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollabCall {
    pub act: CollabAct,
    /// The subagents that it names.
    pub threads: Vec<ThreadId>,
    /// Name of the task of the one that it names.
    pub name: Option<String>,
    /// What they are told, where that can be read.
    pub task: Option<String>,
}

/// What is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollabAct {
    /// They are started, told something, asked for.
    Uses,
    /// The caller does nothing else until they have ended.
    Waits,
    /// They ended, or are closed.
    Ends,
}

/// What `thread/read` says of a thread's descent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descent {
    /// The thread whose subagent it is. `None` for one of a person, and for what Codex does for itself
    /// (a review, a compaction, its memory).
    pub parent: Option<ThreadId>,
    /// Name that Codex gave it.
    pub nickname: Option<String>,
    /// Name of its task.
    pub name: Option<String>,
    /// Absolute.
    pub cwd: String,
}

/// The task's name at the end of an agent's path (`/root/mid/leaf`).
pub fn task_name(path: &str) -> Option<String> {
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty() && name != "root").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::task_name;

    #[test]
    fn a_task_is_named_by_the_end_of_its_path() {
        assert_eq!(task_name("/root/mid/leaf").as_deref(), Some("leaf"));
        assert_eq!([task_name("/root"), task_name(""), task_name("/")], [None, None, None]);
    }
}
