//! Reads what the workspace tools print. Lenient: a line that it does not know is skipped, and a
//! mark that something was cut is noticed.

use std::fmt;

/// One line of a tree: a directory (its path ends in `/`) or a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub path: String,
    /// The lines of a text file; other files have none.
    pub lines: Option<u64>,
    pub bytes: Option<u64>,
}

impl Entry {
    pub fn is_folder(&self) -> bool {
        self.path.ends_with('/')
    }

    /// The first part of the path: a folder with its `/`, or the name of a file at the root.
    pub fn top(&self) -> &str {
        let end = self.path.find('/').map_or(self.path.len(), |at| at + 1);
        &self.path[..end]
    }
}

impl fmt::Display for Entry {
    /// The form in which trees show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match (self.lines, self.bytes) {
            (Some(lines), Some(bytes)) => write!(f, "  ({lines} lines, {bytes} bytes)"),
            (None, Some(bytes)) => write!(f, "  ({bytes} bytes)"),
            (Some(lines), None) => write!(f, "  ({lines} lines)"),
            (None, None) => Ok(()),
        }
    }
}

/// A whole listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// Whether the tool left entries out of the levels that it shows.
    pub cut: bool,
    /// Whether there are more levels.
    pub shallow: bool,
}

/// Reads the output of `workspace_tree`.
pub(super) fn tree(text: &str) -> Listing {
    let shallow = text.lines().any(|line| line.starts_with("[cut") && line.contains("levels"));
    let entries = text.lines().filter_map(entry).collect();
    Listing { entries, cut: is_cut(text) && !shallow, shallow }
}

/// Whether a tool's output says that it is not whole.
pub(super) fn is_cut(text: &str) -> bool {
    let mark = |line: &str| {
        let line = line.trim_start();
        let more = line.starts_with("... ") || line.starts_with('…');
        let unread = line.starts_with('[') && line.ends_with("could not be read to their end]");
        line.starts_with("[cut") || line.starts_with("[truncated") || more || unread
    };
    text.lines().rev().take(3).any(mark)
}

/// Reads one line of a tree, or of a task that names it (`- path  (…)`).
pub(super) fn entry(line: &str) -> Option<Entry> {
    let line = line.trim();
    let line = line.strip_prefix("- ").unwrap_or(line);
    let noted = line.strip_suffix(')').and_then(|line| line.rsplit_once("  ("));
    // A remark of the tool; a file of such a name has its counts behind it.
    let is_remark = noted.is_none() && line.starts_with('[') && line.ends_with(']');
    let (path, counts) = noted.unwrap_or((line, ""));
    let path = path.strip_prefix("./").unwrap_or(path);
    if is_remark || matches!(path, "" | "." | "/") || path.starts_with("... ") {
        return None;
    }
    Some(Entry {
        path: path.to_owned(),
        lines: count(counts, "line"),
        bytes: count(counts, "byte"),
    })
}

/// The number before a unit in `12 lines, 340 bytes`.
fn count(counts: &str, unit: &str) -> Option<u64> {
    let part = counts.split(", ").find(|part| part.contains(unit))?;
    part.split_whitespace().next()?.parse().ok()
}

/// The first line of a read file that says something, without line numbers and comment marks.
pub(super) fn first_words(path: &str, read: &str) -> Option<String> {
    let said = |line: &str| {
        let marks =
            |c: char| c.is_whitespace() || matches!(c, '#' | '/' | '!' | '*' | ';' | '-' | '"');
        let line = without_number(line).trim_matches(marks);
        line.chars().any(char::is_alphanumeric).then(|| line.chars().take(120).collect())
    };
    let remark = |line: &str| line.starts_with('[') && line.ends_with(']');
    let mut lines = read.lines().peekable();
    // The tool's first line says which lines of which file follow.
    lines.next_if(|line| line.strip_prefix(path).is_some_and(|rest| rest.starts_with(": ")));
    lines.filter(|line| !remark(line)).find_map(said)
}

/// A line without the number that some tools print before it (`  12| text`, `12: text`).
fn without_number(line: &str) -> &str {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.trim_start().len();
    let text = rest.strip_prefix(['|', ':', '\t', '→']).filter(|_| is_numbered);
    text.unwrap_or(line)
}

/// The matches that a search printed, as `(path, text)`: lines of the form `path:line:text`.
pub(super) fn matches(text: &str) -> Vec<(&str, &str)> {
    let parse = |line| -> Option<(&str, &str)> {
        let mut parts = str::splitn(line, 3, ':');
        let (path, number, text) = (parts.next()?, parts.next()?, parts.next()?);
        number.trim().parse::<u64>().ok().map(|_| (path.trim(), text.trim()))
    };
    text.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: Option<u64>, bytes: u64) -> Entry {
        Entry { path: path.to_owned(), lines, bytes: Some(bytes) }
    }

    #[test]
    fn a_tree_is_read_with_its_counts_and_its_cut_mark() {
        let text = "src/\nsrc/main (old).rs  (12 lines, 340 bytes)\nlogo.png  (binary, 9 bytes)\n\
                    [id].ts  (1 lines, 1 bytes)\nlatest  (link)\n\
                    [cut: the first 5 entries are shown, there are more]\n";
        let folder = Entry { path: "src/".to_owned(), lines: None, bytes: None };
        let expected = Listing {
            entries: vec![
                folder,
                file("src/main (old).rs", Some(12), 340),
                file("logo.png", None, 9),
                file("[id].ts", Some(1), 1),
                Entry { path: "latest".to_owned(), lines: None, bytes: None },
            ],
            cut: true,
            shallow: false,
        };
        assert_eq!(tree(text), expected);
        let tops: Vec<&str> = expected.entries.iter().map(Entry::top).collect();
        assert_eq!(tops, ["src/", "src/", "logo.png", "[id].ts", "latest"]);
        for entry in &expected.entries {
            assert_eq!(super::entry(&format!("- {entry}")).as_ref(), Some(entry));
        }
        let levels = "[cut: 1 levels are shown; pass `path` or a larger `depth` to see more]";
        let empty = Listing { entries: vec![], cut: false, shallow: true };
        assert_eq!(tree(&format!("[empty]\n{levels}\n")), empty);
    }

    #[test]
    fn the_first_words_of_a_file_come_without_marks() {
        let words = |text: &str| first_words("a/b.rs", text).unwrap_or_default();
        assert_eq!(words("\n//! Says hello.\nfn main() {}"), "Says hello.");
        assert_eq!(words("a/b.rs: lines 1-2 of 2\n     1\t\n     2\t# Title\n"), "Title");
        assert_eq!(words("1: /* x */"), "x");
        assert_eq!(words("2024 was good"), "2024 was good");
        assert_eq!(words("a/b.rs: empty\n"), "");
        assert_eq!(words("\n---\n[cut: read on with start_line = 5]"), "");
    }

    #[test]
    fn matches_are_lines_with_path_and_number() {
        let text = "src/a.rs:3: fn a() {}\nnothing here\nsrc/b.py:10:def b(x: int):";
        let expected = [("src/a.rs", "fn a() {}"), ("src/b.py", "def b(x: int):")];
        assert_eq!(matches(text), expected);
    }
}
