//! The program: everything is in the library.

fn main() -> std::process::ExitCode {
    appserver_acp::cli::main()
}
