use super::{ExplainArgs, run};

fn story(trace: &str) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), trace).unwrap();
    let mut out = Vec::new();
    assert_eq!(run(&ExplainArgs { file: file.path().to_owned() }, &mut out).unwrap(), 0);
    String::from_utf8(out).unwrap()
}

#[test]
fn codex_is_on_the_left_and_the_client_on_the_right() {
    let trace = r#"{"seq":1,"at":0,"in":{"client":{"id":1,"method":"session/prompt"}},"rule":["acp.prompt"],"out":[{"start_codex":1},{"codex":{"id":0,"method":"turn/start"},"generation":1}]}
{"seq":2,"at":1250,"in":{"codex":{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c1"}}},"generation":1},"rule":["item.command.started","item.started"],"out":[{"client":{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c1","status":"in_progress"}}}}],"note":["UnknownItem"]}
{"seq":3,"at":61000,"in":{"deadline":"stop grace"},"rule":[],"out":[{"client":{"id":1,"error":{"code":-32603,"message":"no\nway"}}}]}
"#;
    let expected = "     time  codex                                           rule                            client

    0.000                                                  acp.prompt                      -> session/prompt #1
                                                           * start codex 1
           <- turn/start #0
    1.250  item/started commandExecution c1 ->             item.command.started
                                                                                           <- session/update tool_call c1 in_progress
                                                                                           ! UnknownItem
   61.000                                                  (time: stop grace)
                                                                                           <- error #1 -32603: no way
";
    assert_eq!(story(trace), expected);
}

#[test]
fn a_stop_is_told_from_the_first_signal_to_the_last_look() {
    let trace = r#"{"seq":1,"at":0,"in":{"client":{"id":1,"method":"terminal/cancel"}},"out":[{"stop":{"id":3,"act":"ask","thread":"t","item":"c1"}}]}
{"seq":2,"at":10,"in":{"stop":{"id":3,"report":"signalled","with":"SIGINT","members":4}}}
{"seq":3,"at":3010,"in":{"deadline":"stop grace"},"out":[{"stop":{"id":3,"act":"finish"}}]}
{"seq":4,"at":3500,"in":{"stop":{"id":3,"report":"gone","escaped":1,"killed":2}}}
"#;
    let story = story(trace);
    let told: Vec<&str> = story.lines().skip(2).map(|line| line[9..].trim()).collect();
    let expected = [
        "-> terminal/cancel #1",
        "* stop 3: ask c1",
        "(stop 3: SIGINT to 4)",
        "(time: stop grace)",
        "* stop 3: finish",
        "(stop 3: gone, 1 escaped, 2 killed)",
    ];
    assert_eq!(told, expected, "{story}");
}

#[test]
fn a_second_run_is_set_off() {
    let trace = "{\"seq\":1,\"at\":0,\"in\":{\"client_eof\":true}}\n".repeat(2);
    assert_eq!(story(&trace).matches("\n\n").count(), 2);
}

#[test]
fn long_and_odd_content_stays_on_its_line() {
    let long = "ü".repeat(500);
    let trace = format!("{{\"seq\":1,\"at\":0,\"in\":{{\"client_text\":\"{long}\"}}}}\n");
    let story = story(&trace);
    assert_eq!(story.lines().count(), 3);
    assert!(story.lines().all(|line| line.chars().count() < 170), "{story}");
}
