use super::{completed, event};
use crate::core::codex::{CommandItem, CommandSource, Event, ItemKind, ItemStatus, ToolItem};
use crate::core::ids::{ItemId, Json, ProcessId, PromptKey, ThreadId, TurnId};
use crate::core::update::{Content, Diff, DiffOp, Location, ToolKind};
use serde_json::{Value, json};

fn command(line: &str, actions: Value) -> CommandItem {
    let item = json!({"type": "commandExecution", "id": "i", "command": line, "cwd": "/w", "processId": "77",
        "source": "unifiedExecStartup", "status": "failed", "commandActions": actions,
        "aggregatedOutput": "out", "exitCode": -1, "durationMs": 5});
    match completed(item) {
        ItemKind::Command(command) => command,
        other => panic!("{other:?}"),
    }
}

fn tool(item: Value) -> ToolItem {
    match completed(item) {
        ItemKind::Tool(tool) => tool,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_script_is_taken_out_of_its_shell() {
    let cases = [
        ("/bin/bash -lc 'echo hi; exit 3'", "echo hi; exit 3"),
        ("/bin/bash -lc \"trap 'echo TERM' TERM; sleep 1\"", "trap 'echo TERM' TERM; sleep 1"),
        ("/bin/zsh -lc 'a\nb'", "a\nb"),
        ("bash -c ls", "ls"),
        ("/bin/bash -lc \"echo \\\"\\$HOME\\\" \\`x\\`\"", "echo \"$HOME\" `x`"),
        ("/bin/bash -lc 'it'\\''s'", "it's"),
        // Not a shell with exactly one script: kept as it is.
        ("/bin/bash -lc 'echo' extra", "/bin/bash -lc 'echo' extra"),
        ("/bin/bash script.sh", "/bin/bash script.sh"),
        ("python3 -c 'print(1)'", "python3 -c 'print(1)'"),
        ("echo 'unclosed", "echo 'unclosed"),
        ("ls -la", "ls -la"),
        ("", ""),
    ];
    for (line, script) in cases {
        assert_eq!(command(line, json!([])).command, script);
    }
}

#[test]
fn a_command_keeps_what_codex_says_of_it() {
    let it = command("/bin/bash -lc 'sleep 9'", json!([]));
    assert_eq!(
        (it.cwd.as_str(), it.process, it.source),
        ("/w", Some(ProcessId::new("77")), CommandSource::Agent)
    );
    assert_eq!((it.status, it.output.as_deref()), (ItemStatus::Failed, Some("out")));
    assert_eq!((it.exit_code, it.duration_ms), (Some(-1), Some(5)));
    let shell = json!({"type": "commandExecution", "id": "i", "command": "ls", "source": "userShell"});
    let ItemKind::Command(shell) = completed(shell) else { panic!("no command") };
    assert_eq!((shell.source, shell.process), (CommandSource::User, None));
}

#[test]
fn titles_of_commands_come_from_codexs_own_parse() {
    let read = |path: &str| json!({"type": "read", "command": "cat", "name": "n", "path": path});
    let search = |query: Value, path: Value| {
        let command =
            format!("rg {} {}", query.as_str().unwrap_or_default(), path.as_str().unwrap_or_default());
        json!({"type": "search", "command": command, "query": query, "path": path})
    };
    let list = |path: Value| {
        let command = format!("ls {}", path.as_str().unwrap_or_default());
        json!({"type": "listFiles", "command": command, "path": path})
    };
    let unknown = json!({"type": "unknown", "command": "make"});
    let long = "x".repeat(500);
    let cases = [
        ("cat a", json!([read("/w/src/a.rs")]), "Read src/a.rs", ToolKind::Read),
        ("cat a", json!([read("/etc/hosts")]), "Read /etc/hosts", ToolKind::Read),
        ("cat a a", json!([read("/w/a"), read("/w/a")]), "Read a", ToolKind::Read),
        ("rg", json!([search(json!("foo"), json!("src"))]), "Search src for foo", ToolKind::Search),
        ("rg", json!([search(json!("foo"), json!(null))]), "Search for foo", ToolKind::Search),
        ("rg", json!([search(json!(null), json!("src"))]), "Search src", ToolKind::Search),
        ("rg | x", json!([search(json!(null), json!(null))]), "rg | x", ToolKind::Execute),
        ("ls", json!([list(json!(null))]), "List files", ToolKind::Search),
        ("ls", json!([list(json!("/w"))]), "List .", ToolKind::Search),
        ("ls; cat", json!([list(json!("d")), read("/w/a")]), "List d, Read a", ToolKind::Execute),
        ("cat a; make", json!([read("/w/a"), unknown.clone()]), "cat a; make", ToolKind::Execute),
        ("\n\n  make all  \nmore", json!([unknown]), "make all", ToolKind::Execute),
        (long.as_str(), json!([]), &format!("{}…", "x".repeat(119)), ToolKind::Execute),
    ];
    for (line, actions, title, kind) in cases {
        let it = command(line, actions);
        assert_eq!((it.title.as_str(), it.kind), (title, kind), "{line}");
    }
    let it = command("cat", json!([read("/w/a"), search(json!("q"), json!("sub")), read("/w/a")]));
    let place = |path: &str| Location { path: path.to_owned(), line: None };
    assert_eq!(it.locations, [place("/w/a"), place("/w/sub")]);
}

#[test]
fn changes_become_diffs() {
    let changes = json!([
        {"path": "/w/new", "kind": {"type": "add"}, "diff": "text\n"},
        {"path": "/w/gone", "kind": {"type": "delete"}, "diff": "text\n"},
        {"path": "/w/old", "kind": {"type": "update", "move_path": null}, "diff": "@@ -1 +1 @@\n-a\n+b\n"},
        {"path": "/w/mv", "kind": {"type": "update", "move_path": "/w/to"},
            "diff": "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /w/to"},
    ]);
    let diff = |path: &str, op, text: &str| Diff {
        path: path.to_owned(),
        op,
        text: text.to_owned(),
        left_out: None,
    };
    let expected = vec![
        diff("/w/new", DiffOp::Add, "text\n"),
        diff("/w/gone", DiffOp::Delete, "text\n"),
        diff("/w/old", DiffOp::Modify, "@@ -1 +1 @@\n-a\n+b\n"),
        diff("/w/mv", DiffOp::Move("/w/to".to_owned()), "@@ -1 +1 @@\n-a\n+b\n"),
    ];
    let patch = event(
        "item/fileChange/patchUpdated",
        json!({"threadId": "t", "turnId": "u", "itemId": "i", "changes": changes}),
    );
    let (thread, item) = (ThreadId::new("t"), ItemId::new("i"));
    assert_eq!(patch, Event::Patch { thread, item, changes: expected.clone(), n_more: 0 });
    let item = json!({"type": "fileChange", "id": "i", "status": "declined", "changes": changes});
    assert_eq!(
        completed(item),
        ItemKind::FileChange { changes: expected, n_more: 0, status: ItemStatus::Declined }
    );
}

#[test]
fn other_tools_have_readable_titles() {
    let cases = [
        (json!({"type": "mcpToolCall", "server": "s", "tool": "echo"}), "s.echo", "echo (s)"),
        (json!({"type": "dynamicToolCall", "namespace": "n", "tool": "do"}), "n.do", "do (n)"),
        (json!({"type": "dynamicToolCall", "tool": "do", "contentItems": null}), "do", "do"),
        (json!({"type": "webSearch", "query": "rust"}), "webSearch", "Search the web for rust"),
        (
            json!({"type": "webSearch", "query": "", "action": {"type": "other"}}),
            "webSearch",
            "Search the web",
        ),
        (
            json!({"type": "webSearch", "query": "q", "action": {"type": "openPage", "url": "https://a.b"}}),
            "webSearch",
            "Open https://a.b",
        ),
        (
            json!({"type": "webSearch", "query": "q",
                "action": {"type": "findInPage", "url": "https://a.b", "pattern": "p"}}),
            "webSearch",
            "Find p in https://a.b",
        ),
        (
            json!({"type": "webSearch", "query": "", "action": {"type": "search", "queries": ["one", "two"]}}),
            "webSearch",
            "Search the web for one",
        ),
        (json!({"type": "imageView", "path": "/w/a.png"}), "imageView", "View /w/a.png"),
        (json!({"type": "imageGeneration", "status": "completed"}), "imageGeneration", "Generate an image"),
        (json!({"type": "sleep", "durationMs": 2500}), "sleep", "Wait 2.5 s"),
        (json!({"type": "sleep", "durationMs": 90000}), "sleep", "Wait 90 s"),
        (json!({"type": "sleep", "durationMs": 20}), "sleep", "Wait 20 ms"),
        (json!({"type": "enteredReviewMode", "review": "r"}), "review", "Start a review"),
        (json!({"type": "exitedReviewMode", "review": "r"}), "review", "Finish the review"),
        (json!({"type": "collabAgentToolCall", "tool": "wait"}), "wait", "Wait for subagents"),
        (
            json!({"type": "collabAgentToolCall", "tool": "spawnAgent", "prompt": "p"}),
            "spawnAgent",
            "Start a subagent",
        ),
        (
            json!({"type": "subAgentActivity", "kind": "started", "agentThreadId": "c", "agentPath": "/root/worker"}),
            "subAgentActivity",
            "Subagent worker started",
        ),
    ];
    for (mut item, name, title) in cases {
        item["id"] = json!("i");
        let it = tool(item);
        assert_eq!((it.name.as_str(), it.title.as_str()), (name, title));
        assert_eq!(it.status, ItemStatus::Completed, "{title}: completed, where Codex names no status");
    }
}

#[test]
fn a_tool_call_carries_its_arguments_result_and_text() {
    let it = tool(json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "status": "failed",
        "arguments": {"a": 1}, "result": {"content": [{"type": "text", "text": "one"}, {"type": "image"},
        {"type": "text", "text": "two"}]}, "error": null}));
    assert_eq!(it.input.as_ref().map(|it| it.as_str()), Some(r#"{"a":1}"#));
    assert!(it.output.is_some_and(|it| it.as_str().contains("image")));
    assert_eq!((it.status, it.text.as_deref()), (ItemStatus::Failed, Some("one\ntwo")));
    let it = tool(
        json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "error": {"message": "bad"}}),
    );
    assert_eq!(it.text.as_deref(), Some("bad"));
    let it = tool(json!({"type": "imageGeneration", "id": "i", "status": "completed", "result": "aGVsbG8=",
        "savedPath": "/w/i.png", "failure": null}));
    assert_eq!((it.output, it.locations.len()), (None, 1));
}

#[test]
fn parts_of_every_kind_are_shown_or_named() {
    let parts = json!([
        {"type": "text", "text": "words"},
        {"type": "resource_link", "uri": "file:///w/a.md", "name": "a.md"},
        {"type": "resource_link", "uri": "https://a.b"},
        {"type": "resource", "resource": {"uri": "mem:1", "text": "its text"}},
        {"type": "resource", "resource": {"uri": "mem:2", "mimeType": "application/zip", "blob": "AAAA"}},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "newer"},
        null,
        {"type": "text", "text": null},
    ]);
    let it = tool(
        json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "result": {"content": parts}}),
    );
    let shown = "words\n[a.md](file:///w/a.md)\n[https://a.b](https://a.b)\nits text\n\
                 [resource application/zip mem:2; not shown]\n[audio audio/wav; not shown]";
    assert_eq!(it.text.as_deref(), Some(shown));
}

#[test]
fn what_a_tool_gives_back_stays_well_below_a_line() {
    let big = "ä".repeat(600_000);
    let parts = json!([{"type": "text", "text": big}]);
    let cases = [
        json!({"type": "mcpToolCall", "server": "s", "tool": "t", "arguments": {"a": big},
            "result": {"content": parts}}),
        json!({"type": "mcpToolCall", "server": "s", "tool": "t", "error": {"message": big}}),
        json!({"type": "dynamicToolCall", "tool": "t", "arguments": {"a": big}, "contentItems": parts}),
        json!({"type": "webSearch", "query": big, "results": parts}),
        json!({"type": "imageGeneration", "result": big, "revisedPrompt": big, "failure": {"a": big}}),
        json!({"type": "collabAgentToolCall", "tool": "wait", "prompt": big, "agentsStates": {"a": big}}),
        json!({"type": "exitedReviewMode", "review": big}),
    ];
    for mut item in cases {
        item["id"] = json!("i");
        let it = tool(item);
        let size = |json: &Option<Json>| json.as_ref().map_or(0, |it| it.as_str().len());
        assert!(size(&it.input) + size(&it.output) + it.title.len() < 1 << 20, "{}", it.title);
        let text = it.text.unwrap_or_default();
        assert!(text.len() < 66_000, "{}", it.title);
        assert!(text.is_empty() || text.ends_with(" more bytes left out]"), "{}", it.title);
        if let Some(output) = it.output {
            let left_out: Value = serde_json::from_str(output.as_str()).unwrap();
            assert!(left_out["leftOut"].as_str().unwrap().ends_with(" bytes"), "{left_out}");
        }
    }
}

#[test]
fn a_users_message_keeps_its_key_and_its_parts() {
    let item = json!({"type": "userMessage", "id": "i", "clientId": "k", "content": [
        {"type": "text", "text": "hi", "text_elements": []},
        {"type": "image", "url": "data:image/png;base64,AA==", "detail": null},
        {"type": "localImage", "path": "/w/a.png"},
        {"type": "mention", "name": "b", "path": "app://b"},
        {"type": "skill", "name": "fix", "path": "/s"},
        {"type": "smell", "fileId": "f"},
    ]});
    let content = vec![
        Content::Text("hi".into()),
        Content::Image { url: "data:image/png;base64,AA==".into() },
        Content::Link { name: "a.png".into(), uri: "file:///w/a.png".into() },
        Content::Link { name: "b".into(), uri: "app://b".into() },
        Content::Text("$fix".into()),
        Content::Text("[smell]".into()),
    ];
    assert_eq!(completed(item), ItemKind::UserMessage { key: Some(PromptKey::new("k")), content });
}

#[test]
fn hidden_items_and_texts() {
    let reasoning = |summary: Value, content: Value| {
        completed(json!({"type": "reasoning", "id": "i", "summary": summary, "content": content}))
    };
    let parts =
        |texts: &[&str]| ItemKind::Reasoning { parts: texts.iter().map(|it| (*it).to_owned()).collect() };
    assert_eq!(reasoning(json!(["s"]), json!(["raw"])), parts(&["s"]));
    assert_eq!(reasoning(json!([]), json!(["raw"])), parts(&["raw"]));
    assert_eq!(completed(json!({"type": "hookPrompt", "id": "i", "fragments": []})), ItemKind::Hidden);
    assert_eq!(completed(json!({"type": "functionCallOutput", "id": "i", "name": "n"})), ItemKind::Hidden);
    let plan = completed(json!({"type": "plan", "id": "i", "text": "p"}));
    assert_eq!(plan, ItemKind::Plan { text: "p".into() });
}

#[test]
fn raw_items_count_only_as_text_output_of_a_call() {
    let raw = |item: Value| {
        event("rawResponseItem/completed", json!({"threadId": "t", "turnId": "u", "item": item}))
    };
    let output = |text: &str| Event::RawOutput {
        thread: ThreadId::new("t"),
        turn: TurnId::new("u"),
        item: ItemId::new("c"),
        text: text.to_owned(),
    };
    let text = json!({"type": "function_call_output", "id": "x", "call_id": "c", "output": "running"});
    assert_eq!(raw(text), output("running"));
    let parts = json!([{"type": "input_text", "text": "a"}, {"type": "input_image"}, {"type": "input_text", "text": "b"}]);
    let custom = json!({"type": "custom_tool_call_output", "call_id": "c", "output": parts});
    assert_eq!(raw(custom), output("ab"));
    let ignored = Event::Ignored { method: "rawResponseItem/completed".into() };
    assert_eq!(raw(json!({"type": "message", "role": "developer", "content": []})), ignored);
    assert_eq!(raw(json!({"type": "function_call_output", "output": "no call"})), ignored);
    let image = json!({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image"}]});
    assert_eq!(raw(image), ignored);
}

#[test]
fn what_is_too_large_for_a_line_is_left_out_and_said_so() {
    let change = |path: &str, diff: String| json!({"path": path, "kind": {"type": "add"}, "diff": diff});
    let many = "a line of some length\n".repeat(10_000);
    let (quotes, small) = ("\"".repeat(3 << 20), "x\n".to_owned());
    let changes = [("/w/a", many.clone()), ("/w/b", quotes), ("/w/c", small.clone())];
    let changes = changes.map(|(path, diff)| change(path, diff));
    let item = json!({"type": "fileChange", "id": "i", "status": "completed", "changes": changes});
    let ItemKind::FileChange { changes, .. } = completed(item) else { panic!("a file change") };
    let seen: Vec<_> = changes.iter().map(|it| (it.text.len(), it.left_out)).collect();
    assert_eq!(seen, [(many.len(), None), (0, Some(3 << 20)), (small.len(), None)]);

    let image =
        |n: usize| json!({"type": "image", "url": format!("data:image/png;base64,{}", "A".repeat(n))});
    let item = json!({"type": "userMessage", "id": "u", "clientId": null, "content": [image(6 << 20), image(6 << 20), image(4)]});
    let ItemKind::UserMessage { content, .. } = completed(item) else { panic!("a message") };
    let shown: Vec<_> = content.iter().map(|it| matches!(it, Content::Image { .. })).collect();
    assert_eq!(shown, [true, false, true]);

    let text = |n: usize| json!({"type": "text", "text": "\u{1}".repeat(n)});
    let item = json!({"type": "userMessage", "id": "u", "clientId": null, "content": [text(1 << 19), text(1 << 19), text(4)]});
    let ItemKind::UserMessage { content, .. } = completed(item) else { panic!("a message") };
    let left_out = "[text of 524288 bytes, too large to be shown again]".to_owned();
    assert_eq!(content[1..], [Content::Text(left_out), Content::Text("\u{1}".repeat(4))]);

    let changes: Vec<_> = (0..20_000).map(|n| change(&format!("/w/{n}"), String::new())).collect();
    let item = json!({"type": "fileChange", "id": "i", "status": "completed", "changes": changes});
    let ItemKind::FileChange { changes, n_more, .. } = completed(item) else { panic!("a file change") };
    assert_eq!(changes.len() + n_more, 20_000);
    assert!((5_000..19_000).contains(&n_more), "{n_more} files are left out");
}

#[test]
fn images_of_tools_are_shown_up_to_a_bound() {
    let part = |n: usize| json!({"type": "image", "data": "A".repeat(n), "mimeType": "image/gif"});
    let sizes = |item: Value| tool(item).images.iter().map(String::len).collect::<Vec<_>>();
    let content = json!([part(4), {"type": "text", "text": "t"}, part(6 << 20), part(6 << 20), part(8)]);
    let mcp =
        json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "result": {"content": content}});
    let head = "data:image/gif;base64,".len();
    assert_eq!(sizes(mcp.clone()), [head + 4, head + (6 << 20), head + 8]);
    let note = format!("t\n\n[image of {} bytes, too large to be shown]", head + (6 << 20));
    assert_eq!(tool(mcp).text, Some(note));

    let url = "data:image/png;base64,AAAA";
    let content = json!([{"type": "inputImage", "imageUrl": url}, {"type": "inputText", "text": "t"}]);
    let dynamic = json!({"type": "dynamicToolCall", "id": "i", "tool": "t", "contentItems": content});
    assert_eq!(tool(dynamic).images, [url]);

    let made = |result: &str| tool(json!({"type": "imageGeneration", "id": "i", "result": result})).images;
    assert_eq!(made("iVBORw0K"), ["data:image/png;base64,iVBORw0K"]);
    assert_eq!(made("/9j/4AAQ"), ["data:image/jpeg;base64,/9j/4AAQ"]);
    assert_eq!(made(""), [""; 0]);
}

#[test]
fn questions_that_nothing_waits_for_are_part_of_their_message() {
    let questions = json!([{"title": "Which port?", "options": ["80", "8080"]}, {"title": "Anything else?", "options": null}]);
    let item = json!({"type": "agentMessage", "id": "m", "text": "I go on.", "delivery": "async", "questions": questions});
    let ItemKind::AgentMessage { text } = completed(item) else { panic!("no message") };
    insta::assert_snapshot!(text, @r"
    I go on.

    **Which port?**
    - 80
    - 8080

    **Anything else?**

    *Answer with your next message.*
    ");
    let plain =
        json!({"type": "agentMessage", "id": "m", "text": "Hi.", "delivery": null, "questions": null});
    assert_eq!(completed(plain), ItemKind::AgentMessage { text: "Hi.".into() });
}
