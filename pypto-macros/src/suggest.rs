//! "Did you mean": the known name nearest to one that is not known.

/// The nearest of `known` within two edits (one for names of up to three characters).
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = if name.chars().count() <= 3 { 1 } else { 2 };
    known.iter().map(|k| (distance(name, k), *k)).filter(|(d, _)| *d <= limit).min().map(|(_, k)| k)
}

/// `; did you mean ..?` where a known name is near, otherwise nothing.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known).map(|k| format!("; did you mean `{k}`?")).unwrap_or_default()
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one name into the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                    if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("mata", &["incore", "meta"]), Some("meta"));
        assert_eq!(nearest("icnore", &["incore", "meta"]), Some("incore"));
        assert_eq!(nearest("tiles", &["incore", "meta"]), None);
        assert_eq!(nearest("of", &["out", "if"]), Some("if"));
        assert_eq!(nearest("", &["meta"]), None);
    }
}
