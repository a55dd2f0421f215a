//! The fake app-server, see `testkit::fake`.

fn main() -> anyhow::Result<()> {
    testkit::fake::play()
}
