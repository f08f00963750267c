//! Text with `*`, which stands for any text, also none.
//!
//! No other wildcard: whatever else a name holds is meant as it is.

/// A text with wildcards, ready to match.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Glob {
    text: Box<str>,
    /// What stands between the stars; one piece: no star.
    pieces: Box<[Box<str>]>,
}

/// How narrow a glob is; greater is narrower.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Narrowness {
    exact: bool,
    literals: usize,
    fewer_stars: std::cmp::Reverse<usize>,
}

impl Glob {
    /// Several stars in a row are one.
    pub(crate) fn new(text: &str) -> Self {
        let mut single = String::with_capacity(text.len());
        for c in text.chars() {
            if c != '*' || !single.ends_with('*') {
                single.push(c);
            }
        }
        let pieces = single.split('*').map(Into::into).collect();
        Self { text: single.into(), pieces }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The name it stands for if it has no star.
    pub(super) fn exact(&self) -> Option<&str> {
        (self.pieces.len() == 1).then_some(&*self.text)
    }

    pub(super) fn narrowness(&self) -> Narrowness {
        let stars = self.pieces.len() - 1;
        Narrowness {
            exact: stars == 0,
            literals: self.text.len() - stars,
            fewer_stars: std::cmp::Reverse(stars),
        }
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        let (Some((first, rest)), Some(last)) = (self.pieces.split_first(), self.pieces.last())
        else {
            return false;
        };
        let Some((_, middle)) = rest.split_last() else { return **first == *name };
        let Some(name) = name.strip_prefix(&**first) else { return false };
        let Some(name) = name.strip_suffix(&**last) else { return false };
        // The leftmost place is as good as any for a piece between two stars.
        middle
            .iter()
            .try_fold(name, |name, piece| name.find(&**piece).map(|at| &name[at + piece.len()..]))
            .is_some()
    }

    /// Whether it matches every name that the other matches: whether it matches
    /// the other's text, where only a star can take a star.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.matches(&other.text)
    }

    /// Whether some name matches both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        match (self.exact(), other.exact()) {
            (Some(name), _) => other.matches(name),
            (_, Some(name)) => self.matches(name),
            (None, None) => self.ends_fit(other) && meet(&self.text, &other.text),
        }
    }

    /// Quick and necessary: what comes before the first star and after the last
    /// does not contradict.
    fn ends_fit(&self, other: &Self) -> bool {
        let ends = |glob: &Self| Some((glob.pieces.first()?.clone(), glob.pieces.last()?.clone()));
        let (Some((a, z)), Some((b, y))) = (ends(self), ends(other)) else { return false };
        (a.starts_with(&*b) || b.starts_with(&*a)) && (z.ends_with(&*y) || y.ends_with(&*z))
    }
}

/// Whether two texts with stars have a name in common: `row[j]` says whether the
/// rest of `a` and the rest of `b` from `j` on have one.
fn meet(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut below = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            row[j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(b'*'), None) => below[j],
                (Some(b'*'), Some(_)) => below[j] || row[j + 1],
                (None, Some(b'*')) => row[j + 1],
                (Some(_), Some(b'*')) => row[j + 1] || below[j],
                (Some(x), Some(y)) => x == y && below[j + 1],
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
        below = row;
    }
    below[0]
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The plainest matcher there is.
    pub(in super::super) fn naive(glob: &[u8], name: &[u8]) -> bool {
        match (glob.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => {
                naive(rest, name) || name.split_first().is_some_and(|(_, tail)| naive(glob, tail))
            }
            (Some((a, rest)), Some((b, tail))) => a == b && naive(rest, tail),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Every text over two letters, up to six long.
    fn names() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..6 {
            last = last.iter().flat_map(|it| [format!("{it}a"), format!("{it}b")]).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn a_prefix_and_a_suffix_may_not_share_text() {
        assert!(!Glob::new("ab*ba").matches("aba"));
        assert!(Glob::new("ab*ba").matches("abba"));
        assert!(Glob::new("*").matches("") && !Glob::new("").matches("a"));
    }

    #[test]
    fn an_exact_name_is_narrowest_and_more_text_is_narrower() {
        let order = ["*", "a*b*", "ab*", "abc*", "a"];
        for pair in order.windows(2) {
            assert!(Glob::new(pair[0]).narrowness() < Glob::new(pair[1]).narrowness(), "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn matches_as_the_plainest_matcher_does(glob in "[ab*]{0,8}", name in "[ab]{0,10}") {
            let expected = naive(glob.as_bytes(), name.as_bytes());
            prop_assert_eq!(Glob::new(&glob).matches(&name), expected);
        }

        #[test]
        fn overlap_and_cover_are_what_the_names_say(a in "[ab*]{0,5}", b in "[ab*]{0,5}") {
            let (a, b) = (Glob::new(&a), Glob::new(&b));
            // Two patterns of five characters that meet do so within six letters,
            // or through a star on both sides, which needs no more than both.
            let long = format!("{}{}", a.text.replace('*', ""), b.text.replace('*', ""));
            let all: Vec<_> = names().into_iter().chain([long]).collect();
            let both = all.iter().any(|name| a.matches(name) && b.matches(name));
            if both { prop_assert!(a.overlaps(&b)); }
            prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
            if a.covers(&b) {
                prop_assert!(all.iter().all(|name| !b.matches(name) || a.matches(name)));
                prop_assert!(a.overlaps(&b));
            }
        }

        #[test]
        fn what_does_not_overlap_has_no_common_name(a in "[ab*]{0,4}", b in "[ab*]{0,4}") {
            let (a, b) = (Glob::new(&a), Glob::new(&b));
            // The shortest common name is no longer than the literals of both.
            let both = longer_names().iter().any(|name| a.matches(name) && b.matches(name));
            prop_assert_eq!(a.overlaps(&b), both);
        }
    }

    /// Every text over two letters, up to eight long.
    fn longer_names() -> Vec<String> {
        let ends = ["", "a", "b", "aa", "ab", "ba", "bb"];
        let all = names();
        all.iter().flat_map(|name| ends.iter().map(move |end| format!("{name}{end}"))).collect()
    }
}
