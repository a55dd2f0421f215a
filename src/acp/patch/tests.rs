use super::{git_patch, hunks};
use crate::core::update::{Diff, DiffOp};

fn patch(path: &str, op: DiffOp, text: &str) -> Option<String> {
    git_patch(&Diff { path: path.into(), op, text: text.into(), left_out: None })
}

#[test]
fn patches_are_whole() {
    let cases = [
        (
            DiffOp::Add,
            "x\ny\n",
            "diff --git /w/a /w/a\nnew file mode 100644\n--- /dev/null\n+++ /w/a\n@@ -0,0 +1,2 @@\n+x\n+y\n",
        ),
        (
            DiffOp::Add,
            "x",
            "diff --git /w/a /w/a\nnew file mode 100644\n--- /dev/null\n+++ /w/a\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
        ),
        (DiffOp::Add, "", "diff --git /w/a /w/a\nnew file mode 100644\n"),
        (
            DiffOp::Delete,
            "x\r\n",
            "diff --git /w/a /w/a\ndeleted file mode 100644\n--- /w/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\r\n",
        ),
        (
            DiffOp::Modify,
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn x\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
            "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@ fn x\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        ),
        (
            DiffOp::Move("/w/b".into()),
            "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /w/b",
            "diff --git /w/a /w/b\nrename from /w/a\nrename to /w/b\n--- /w/a\n+++ /w/b\n@@ -1 +1 @@\n-a\n+b\n",
        ),
    ];
    for (op, text, expected) in cases {
        assert_eq!(patch("/w/a", op, text).as_deref(), Some(expected), "{text:?}");
    }
}

#[test]
fn what_is_no_diff_makes_no_patch() {
    for text in [
        "",
        "hello",
        "@@ -1,2 +1 @@\n-a\n",
        "@@ -1 +1 @@\n-a\n-b\n+c\n",
        "@@ -1 +1 @@\n*a\n",
        "@@ -x +1 @@\n",
    ] {
        assert_eq!(patch("/w/a", DiffOp::Modify, text), None, "{text:?}");
    }
}

#[test]
fn odd_paths_are_quoted() {
    let patch = patch("/w/a \"b\"\n\u{1}é", DiffOp::Add, "").unwrap();
    assert!(patch.starts_with("diff --git \"/w/a \\\"b\\\"\\n\\001é\" "), "{patch}");
}

#[test]
fn sides_keep_the_missing_newline() {
    let sides = |text: &str| hunks(text).unwrap()[0].sides();
    let both = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
    assert_eq!(sides(both), ("a".into(), "b".into()));
    let old = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
    assert_eq!(sides(old), ("a".into(), "b\n".into()));
    let context = "@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n";
    assert_eq!(sides(context), ("a\nb".into(), "b".into()));
    let blank = "@@ -1,2 +1,3 @@\n a\n\n+b\n";
    assert_eq!(sides(blank), ("a\n\n".into(), "a\n\nb\n".into()));
}
