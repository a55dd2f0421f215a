//! Output of one command: what came, what the client has, what it holds at the end.
//!
//! Bounded: the first and the last 512 KiB are kept, as Codex itself does. Does not keep time.

#[cfg(test)]
mod tests;

/// Bytes kept from the start and from the end.
pub(crate) const HALF: usize = 512 * 1024;

/// Output so far. Text is as Codex gave it: valid UTF-8, ANSI and CRLF untouched.
#[derive(Debug, Default)]
pub(crate) struct Output {
    head: String,
    tail: String,
    /// Bytes that came, kept or not.
    total: u64,
    /// Bytes that the client has.
    sent: u64,
    /// Some of them only if a resume comes to its end: until then the next news is everything.
    is_unsure: bool,
}

/// What brings the client up to date.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// More text after what it has.
    Chunk(String),
    /// Everything anew: what it missed is not kept any more, or what it has is wrong.
    Snapshot(String),
}

impl Output {
    /// Takes more output.
    pub(crate) fn push(&mut self, text: &str) {
        self.total += text.len() as u64;
        let mut rest = text;
        if self.tail.is_empty() && self.head.len() < HALF {
            let room = floor_boundary(text, HALF - self.head.len());
            self.head.push_str(&text[..room]);
            rest = &text[room..];
        }
        self.tail.push_str(rest);
        // Trimmed in blocks, so that each byte is moved at most once.
        if self.tail.len() > 2 * HALF {
            let cut = ceil_boundary(&self.tail, self.tail.len() - HALF);
            self.tail.drain(..cut);
        }
    }

    /// Takes back earlier output that never came as a delta: `early` is the output from its very
    /// start up to some moment (the model's view), deltas missed a part of its beginning.
    /// Returns whether the client's text is now wrong at its start.
    pub(crate) fn learn_early(&mut self, early: &str) -> bool {
        if early.is_empty() || self.dropped() > 0 {
            return false;
        }
        if self.total == 0 {
            self.push(early);
            return false;
        }
        let have = self.whole();
        let Some(missing) = missing_start(early, &have) else { return false };
        if missing == 0 {
            return false;
        }
        let sent_before = self.sent;
        let whole = format!("{}{have}", &early[..missing]);
        *self = Self::default();
        self.push(&whole);
        sent_before > 0
    }

    /// Bytes that the client does not have.
    pub(crate) fn pending(&self) -> u64 {
        match self.is_unsure {
            true => self.total,
            false => self.total - self.sent,
        }
    }

    /// What the client needs to be up to date; it has it once this returns.
    pub(crate) fn take(&mut self) -> Option<News> {
        if self.pending() == 0 {
            return None;
        }
        let news = match self.unsent().filter(|_| !self.is_unsure) {
            Some(text) => News::Chunk(text),
            None => News::Snapshot(self.whole()),
        };
        (self.sent, self.is_unsure) = (self.total, false);
        Some(news)
    }

    /// Everything so far, for a resume that may come to nothing: only `confirm` makes it sure that the client has it.
    pub(crate) fn write_down(&mut self) -> String {
        self.is_unsure |= self.pending() > 0;
        self.sent = self.total;
        self.whole()
    }

    /// Whether the client may not have what was written down.
    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// The client has what was written down.
    pub(crate) fn confirm(&mut self) {
        self.is_unsure = false;
    }

    /// The client's text is void: the next `take` sends everything.
    pub(crate) fn take_all(&mut self) -> News {
        (self.sent, self.is_unsure) = (self.total, false);
        News::Snapshot(self.whole())
    }

    /// The last word: Codex's aggregated output (`None` says nothing). At most one update makes
    /// the client hold exactly that; a longer stream that agrees with it is left alone (D4).
    pub(crate) fn settle(&mut self, aggregated: Option<&str>) -> Option<News> {
        let Some(aggregated) = aggregated else { return self.take() };
        match omission(aggregated) {
            Some(cut) if self.agrees(aggregated, &cut) => self.take(),
            Some(_) => Some(News::Snapshot(aggregated.to_owned())),
            None => match self.sent_text() {
                Some(sent) if aggregated.as_bytes().starts_with(sent.as_bytes()) => {
                    let rest = &aggregated[sent.len()..];
                    (!rest.is_empty()).then(|| News::Chunk(rest.to_owned()))
                }
                _ => Some(News::Snapshot(aggregated.to_owned())),
            },
        }
    }

    /// Everything that is kept, with Codex's own mark where something is not.
    pub(crate) fn whole(&self) -> String {
        match self.dropped() {
            0 => format!("{}{}", self.head, self.tail),
            dropped => format!("{}\n... {dropped} bytes omitted ...\n{}", self.head, self.tail),
        }
    }

    /// The last `limit` bytes, for clients that show output as text.
    pub(crate) fn view(&self, limit: usize) -> String {
        last_bytes(&self.whole(), limit)
    }

    fn dropped(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    fn unsent(&self) -> Option<String> {
        let head = self.head.len() as u64;
        if self.sent < head {
            let start = &self.head[self.sent as usize..];
            return (self.dropped() == 0).then(|| format!("{start}{}", self.tail));
        }
        let offset = (self.sent - head).checked_sub(self.dropped())?;
        Some(self.tail[offset as usize..].to_owned())
    }

    fn sent_text(&self) -> Option<String> {
        (self.dropped() == 0 && !self.is_unsure).then(|| {
            let mut text = self.whole();
            text.truncate(self.sent as usize);
            text
        })
    }

    fn agrees(&self, aggregated: &str, cut: &Omission) -> bool {
        let (head, tail) = (&aggregated[..cut.start], &aggregated[cut.end..]);
        let kept = self.whole();
        self.total == head.len() as u64 + cut.bytes + tail.len() as u64
            && kept.starts_with(head)
            && kept.ends_with(tail)
    }
}

/// `aggregated` as Codex itself bounds it: an output that is longer is cut in the same way.
pub(crate) fn bounded(aggregated: String) -> String {
    // Room for the mark, which Codex adds to what it keeps.
    if aggregated.len() <= 2 * HALF + 256 {
        return aggregated;
    }
    let mut output = Output::default();
    output.push(&aggregated);
    let tail = ceil_boundary(&output.tail, output.tail.len().saturating_sub(HALF));
    output.tail.drain(..tail);
    output.whole()
}

/// The last `limit` bytes of `text`, cut at a line where there is one, with a mark of the cut.
pub(crate) fn last_bytes(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let from = ceil_boundary(text, text.len() - limit);
    let from = text[from..].find('\n').map_or(from, |line| from + line + 1);
    format!("... {from} bytes before this ...\n{}", &text[from..])
}

/// Codex's mark of left out bytes.
struct Omission {
    start: usize,
    end: usize,
    bytes: u64,
}

fn omission(aggregated: &str) -> Option<Omission> {
    const BEFORE: &str = "\n... ";
    const AFTER: &str = " bytes omitted ...\n";
    if aggregated.len() <= 2 * HALF {
        return None;
    }
    let from = floor_boundary(aggregated, HALF - 3);
    let start = from + aggregated[from..].find(BEFORE)?;
    let number = start + BEFORE.len();
    let digits = aggregated[number..].find(AFTER)?;
    let bytes = aggregated[number..number + digits].parse().ok()?;
    Some(Omission { start, end: number + digits + AFTER.len(), bytes })
}

/// How many bytes of `early` come before `have`, where the two overlap to the end of one of them.
fn missing_start(early: &str, have: &str) -> Option<usize> {
    let anchor = &have[..floor_boundary(have, 256)];
    early.char_indices().map(|(at, _)| at).find(|&at| {
        let rest = &early[at..];
        rest.starts_with(have)
            || (rest.len() < have.len() && have.starts_with(rest) && rest.len() >= anchor.len())
    })
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
