use super::{Cli, Command, Environment};
use crate::core::codex::Preset;
use clap::{CommandFactory, Parser};

fn environment() -> Environment {
    Environment {
        codex_config: Some(r#"{"model":"a"}"#.to_owned()),
        model_provider: Some("mock".to_owned()),
        initial_agent_mode: Some("read-only".to_owned()),
        ..Environment::default()
    }
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn what_is_said_outright_comes_last_and_so_wins() {
    let cli = Cli::parse_from(["appserver-acp", "-c", "model=\"b\"", "-c", "x=1"]);
    let options = cli.agent.options(&environment()).unwrap();
    assert_eq!(options.overrides, ["model=\"a\"", "model_provider=\"mock\"", "model=\"b\"", "x=1"]);
    assert_eq!(options.settings.preset, Some(Preset::ReadOnly));
}

#[test]
fn an_unknown_mode_changes_nothing() {
    let environment = Environment { initial_agent_mode: Some("bold".to_owned()), ..environment() };
    let options = Cli::parse_from(["appserver-acp"]).agent.options(&environment).unwrap();
    assert_eq!(options.settings.preset, None);
}

#[test]
fn a_broken_codex_config_is_an_error_that_names_it() {
    let environment = Environment { codex_config: Some("{".to_owned()), ..Environment::default() };
    let error = Cli::parse_from(["appserver-acp"]).agent.options(&environment).unwrap_err();
    assert!(format!("{error:#}").starts_with("read CODEX_CONFIG: expected a JSON object"), "{error:#}");
}

#[test]
fn each_run_has_a_nonce_that_fits_into_ids() {
    let nonce =
        || Cli::parse_from(["appserver-acp"]).agent.options(&Environment::default()).unwrap().settings.nonce;
    let (one, other) = (nonce(), nonce());
    assert!(one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");
    assert_ne!(one, other);
}

#[test]
fn help_shows_how_to_set_up_a_client() {
    let help = Cli::command().render_long_help().to_string();
    for word in ["agent_servers", "CODEX_CONFIG", "doctor", "replay", "--trace"] {
        assert!(help.contains(word), "{word}");
    }
}

#[test]
fn codex_may_be_named_before_or_after_doctor_and_the_later_one_wins() {
    let cli = Cli::parse_from(["a", "--codex", "one", "-c", "x=1", "doctor", "--codex", "two", "-c", "y=2"]);
    let Cli { mut agent, command: Some(Command::Doctor(args)) } = cli else { panic!("no doctor") };
    agent.codex.extend(args);
    let environment = Environment { codex: Some("three".into()), ..Environment::default() };
    assert_eq!(agent.codex.sought(&environment).named, Some("two".into()));
    assert_eq!(agent.codex.config, ["x=1", "y=2"]);
    let unsaid = Cli::parse_from(["a"]).agent.codex;
    assert_eq!(unsaid.sought(&environment).named, Some("three".into()), "the environment is next");
}

#[test]
fn what_a_command_does_not_use_is_no_flag_of_it() {
    for command in ["explain", "replay"] {
        for flag in ["-cx=1", "--codex=x"] {
            assert!(Cli::try_parse_from(["a", command, "file", flag]).is_err(), "{command} {flag}");
        }
    }
}

#[test]
fn the_grace_of_a_stop_is_in_seconds_and_the_flag_wins() {
    let grace = |flags: &[&str], variable: Option<&str>| {
        let cli =
            Cli::try_parse_from(std::iter::once(&"a").chain(flags)).map_err(|error| error.to_string())?;
        let environment = Environment { stop_grace: variable.map(str::to_owned), ..Environment::default() };
        let options = cli.agent.options(&environment).map_err(|error| format!("{error:#}"))?;
        Ok::<_, String>(options.settings.stop_grace)
    };
    assert_eq!(grace(&[], None), Ok(3_000));
    assert_eq!(grace(&[], Some("10")), Ok(10_000));
    assert_eq!(grace(&["--stop-grace", "0.5"], Some("10")), Ok(500));
    assert_eq!(grace(&["--stop-grace=0"], None), Ok(0));
    for wrong in ["-1", "61", "NaN", "inf", "soon"] {
        let flag = format!("--stop-grace={wrong}");
        assert!(grace(&[&flag], None).unwrap_err().contains("from 0 to 60"), "{wrong}");
        let error = grace(&[], Some(wrong)).unwrap_err();
        assert!(error.contains("APPSERVER_ACP_STOP_GRACE") && error.contains("from 0 to 60"), "{error}");
    }
}

#[test]
fn an_app_server_that_runs_is_named_by_a_flag_or_a_variable_and_the_flag_wins() {
    let connect = |flags: &[&str], variable: Option<&str>| {
        let cli =
            Cli::try_parse_from(std::iter::once(&"a").chain(flags)).map_err(|error| error.to_string())?;
        let environment = Environment { connect: variable.map(str::to_owned), ..Environment::default() };
        let options = cli.agent.options(&environment).map_err(|error| format!("{error:#}"))?;
        assert_eq!(options.settings.connect, options.connect.as_ref().map(|it| it.address.to_string()));
        Ok::<_, String>(options.settings.connect)
    };
    assert_eq!(connect(&[], None), Ok(None));
    assert_eq!(connect(&[], Some("unix:/a")), Ok(Some("unix:/a".to_owned())));
    assert_eq!(connect(&["--connect", "unix:/b"], Some("unix:/a")), Ok(Some("unix:/b".to_owned())));
    assert_eq!(connect(&["--connect", "unix:/b"], Some("wss://x:1")), Ok(Some("unix:/b".to_owned())));
    let error = connect(&["--connect", "wss://127.0.0.1:1"], None).unwrap_err();
    assert!(error.contains("--connect") && error.contains("forward its port"), "{error}");
    let error = connect(&[], Some("ws://example.org:1")).unwrap_err();
    assert!(error.contains("APPSERVER_ACP_CONNECT") && error.contains("another machine"), "{error}");
}
