use super::ends::Ends;
use super::{BUFFER_KEPT, Frame, Lines, READ};
use proptest::prelude::*;
use tokio_stream::StreamExt;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, FramedRead};

fn show(frame: Frame) -> String {
    match frame {
        Frame::Line(line) => String::from_utf8_lossy(&line).into_owned(),
        Frame::Oversized(_) => "<oversized>".to_owned(),
    }
}

/// Frames of `chunks` with a cap of 8 bytes, and the largest buffer seen.
fn run(chunks: &[&[u8]]) -> (Vec<String>, usize) {
    let mut lines = Lines::capped(8);
    let mut buffer = BytesMut::new();
    let mut frames = Vec::new();
    let mut largest = 0;
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        largest = largest.max(buffer.len());
        while let Some(frame) = lines.decode(&mut buffer).unwrap() {
            frames.push(show(frame));
        }
    }
    while let Some(frame) = lines.decode_eof(&mut buffer).unwrap() {
        frames.push(show(frame));
    }
    (frames, largest)
}

fn frames(chunks: &[&[u8]]) -> Vec<String> {
    run(chunks).0
}

#[test]
fn lines_come_whole_out_of_partial_reads() {
    assert_eq!(frames(&[b"{\"a\"", b":1}", b"\n{}\n", b"[", b"]\n"]), ["{\"a\":1}", "{}", "[]"]);
}

#[test]
fn crlf_and_empty_lines_are_tolerated() {
    assert_eq!(frames(&[b"a\r\n\r\n\n  \nb\r", b"\nc"]), ["a", "b", "c"]);
}

#[test]
fn the_last_line_needs_no_newline() {
    assert_eq!(frames(&[b"a\nlast"]), ["a", "last"]);
    assert_eq!(frames(&[b"last\r"]), ["last"]);
    assert_eq!(frames(&[b"a\n"]), ["a"]);
    assert_eq!(frames(&[b""]), Vec::<String>::new());
}

#[test]
fn a_line_of_exactly_the_cap_is_a_line() {
    assert_eq!(frames(&[b"12345678\n123456789\n"]), ["12345678", "<oversized>"]);
    assert_eq!(frames(&[b"12345678"]), ["12345678"]);
    assert_eq!(frames(&[b"123456789"]), ["<oversized>"]);
}

#[test]
fn an_oversized_line_costs_only_itself_and_no_memory() {
    let long = [b"x".as_slice(); 1000];
    let chunks: Vec<&[u8]> = [&long[..], &[b"x\nok\n".as_slice()]].concat();
    let (frames, largest) = run(&chunks);
    assert_eq!(frames, ["<oversized>", "ok"]);
    assert!(largest <= 13, "{largest}");
}

#[test]
fn the_ends_of_an_oversized_line_are_kept() {
    for chunks in [&[b"123456789\r\nok\n".as_slice()][..], &[b"12345", b"6789\r", b"\nok"]] {
        let (mut lines, mut buffer, mut frames) = (Lines::capped(8), BytesMut::new(), Vec::new());
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            frames.extend(std::iter::from_fn(|| lines.decode(&mut buffer).unwrap()));
        }
        frames.extend(lines.decode_eof(&mut buffer).unwrap());
        assert_eq!(frames, [Frame::Oversized(Ends::of(b"123456789\r")), Frame::Line((&b"ok"[..]).into())]);
    }
}

#[test]
fn bytes_that_are_no_utf8_pass() {
    let mut lines = Lines::capped(8);
    let mut buffer = BytesMut::from(&b"\xff\xfe\n"[..]);
    assert_eq!(lines.decode(&mut buffer).unwrap(), Some(Frame::Line((&b"\xff\xfe"[..]).into())));
}

#[tokio::test]
async fn a_framed_reader_goes_on_after_an_oversized_line() {
    let bytes: &[u8] = b"one\n123456789012345\ntwo\nthree";
    let mut framed = FramedRead::new(bytes, Lines::capped(8));
    let mut frames = Vec::new();
    while let Some(frame) = framed.next().await {
        frames.push(show(frame.unwrap()));
    }
    assert_eq!(frames, ["one", "<oversized>", "two", "three"]);
}

proptest! {
    #[test]
    fn where_reads_are_cut_does_not_matter(
        text in prop::collection::vec(prop::sample::select(b"ab\r\n ".to_vec()), 0..60),
        cuts in prop::collection::vec(0usize..60, 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&text[from..cut]);
            from = cut;
        }
        chunks.push(&text[from..]);
        prop_assert_eq!(frames(&chunks), frames(&[&text]));
    }
}

#[test]
fn what_follows_an_oversized_line_is_read_in_large_pieces() {
    let mut lines = Lines::capped(2 * BUFFER_KEPT);
    let mut buffer = BytesMut::from(&vec![b'x'; 2 * BUFFER_KEPT + 2][..]);
    assert_eq!(lines.decode(&mut buffer).unwrap(), None);
    assert!(buffer.is_empty() && buffer.capacity() >= READ, "{}", buffer.capacity());
    assert!(buffer.capacity() < BUFFER_KEPT, "the large buffer is given back");
}
