//! The known word that is closest to a misspelt one.

/// The known word nearest to a misspelt one, or one that begins with it, unless it is another word
/// altogether. Case does not matter; of equally near ones the first.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |other: &&str| {
        let other = other.to_lowercase();
        if word.len() >= 3 && other.starts_with(&word) { 1 } else { edits(&other, &word) }
    };
    let found = known.into_iter().min_by_key(distance)?;
    // A third of the letters may be wrong.
    let letters = word.chars().count().max(found.chars().count()).max(3);
    (3 * distance(&found) <= letters).then_some(found)
}

/// The nearest known word as a question to append to a message; empty where nothing is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |name| format!("; did you mean '{name}'?"))
}

/// Letters to insert, drop, change, or swap with their neighbour to get from one word to another.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, &b) in to.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a == to[j - 1] && from[i - 1] == b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["heft", "peft", "work-queue", "just-in-time"];
        assert_eq!(nearest("hefft", known), Some("heft"));
        assert_eq!(nearest("HEFT2", known), Some("heft"));
        assert_eq!(nearest("workqueue", known), Some("work-queue"));
        assert_eq!(nearest("just", known), Some("just-in-time"));
        assert_eq!(nearest("hetf", known), Some("heft"));
        assert_eq!(nearest("ehft", known), Some("heft"));
        assert_eq!(nearest("simulated-annealing", known), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(did_you_mean("pefd", known), "; did you mean 'peft'?");
    }
}
