//! Keeps what servers and executors send from steering the terminal: a host name
//! may hold anything, an escape sequence among it.

/// The text with every control character written out, but for line ends, tabs
/// and the colours that this program sets itself.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_dangerous) {
        printable.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = colour_length(rest);
        if colour > 0 {
            printable.push_str(&rest[..colour]);
            rest = &rest[colour..];
        } else {
            rest = write_out(&mut printable, rest);
        }
    }
    printable.push_str(rest);
    printable
}

fn is_dangerous(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// Writes the first character as `\u{..}`; the rest.
fn write_out<'a>(printable: &mut String, text: &'a str) -> &'a str {
    let mut characters = text.chars();
    if let Some(dangerous) = characters.next() {
        printable.extend(dangerous.escape_unicode());
    }
    characters.as_str()
}

/// The length of the colour sequence (`ESC [ digits m`) that a text begins with; 0
/// if it begins with something else.
fn colour_length(text: &str) -> usize {
    let Some(digits) = text.strip_prefix("\x1b[") else { return 0 };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if digits[end..].starts_with('m') { "\x1b[".len() + end + "m".len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(printable("a\tb\nGrüße\n"), "a\tb\nGrüße\n");
    }

    #[test]
    fn what_would_steer_the_terminal_is_written_out() {
        assert_eq!(
            printable("\x1b]0;title\x07\x1b[2Jx\r"),
            "\\u{1b}]0;title\\u{7}\\u{1b}[2Jx\\u{d}"
        );
    }

    #[test]
    fn colours_stay() {
        assert_eq!(printable("\x1b[31mError:\x1b[0m x"), "\x1b[31mError:\x1b[0m x");
    }
}
