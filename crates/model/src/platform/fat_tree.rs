//! Fat-tree clusters: parallel ports generalised fat trees with D-mod-K routing.
//!
//! E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real
//! life fat trees", CCIT report 776, Technion, 2010. A node of level `l` (0 = hosts) has a label
//! of one digit per level; a node and a switch one level up are joined when their labels differ
//! at most in the digit of that level. Going up, the port is chosen by the destination; going down, parallel
//! cables are distinguished by the source.

use super::cluster::Fabric;
use super::route::Path;

/// Shape of the tree, one entry per level of switches, from the hosts up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FatTree {
    /// Nodes below each switch.
    pub(super) children: Box<[u32]>,
    /// Switches above each node.
    pub(super) parents: Box<[u32]>,
    /// Parallel cables between a node and a switch above it.
    pub(super) cables: Box<[u32]>,
}

impl FatTree {
    pub(super) fn levels(&self) -> usize {
        self.children.len()
    }

    /// Nodes of a level: digits below it count parents, those above count children.
    pub(super) fn width(&self, level: usize) -> u64 {
        let below = self.parents[..level].iter();
        let above = self.children[level..].iter();
        below.chain(above).map(|&n| u64::from(n)).product()
    }

    /// All switches, levels 1 and up.
    pub(super) fn switches(&self) -> u64 {
        (1..=self.levels()).map(|level| self.width(level)).sum()
    }

    fn radix(&self, level: usize, digit: usize) -> u32 {
        if digit < level { self.parents[digit] } else { self.children[digit] }
    }

    /// The digits of the label of a node.
    pub(super) fn label(&self, level: usize, mut position: u32) -> Vec<u32> {
        (0..self.levels())
            .map(|digit| {
                let radix = self.radix(level, digit);
                let value = position % radix;
                position /= radix;
                value
            })
            .collect()
    }

    /// The position in its level of the node with that label.
    pub(super) fn position(&self, level: usize, label: &[u32]) -> u32 {
        (0..self.levels()).rev().fold(0, |sum, digit| sum * self.radix(level, digit) + label[digit])
    }

    /// Cables going up from a node of `level`.
    fn ports_up(&self, level: usize) -> u32 {
        self.parents[level] * self.cables[level]
    }

    /// Number of the cable from a child to its parent of digit `parent`; cables are numbered by
    /// level, child, parent.
    pub(super) fn cable(&self, level: usize, child: u32, parent: u32, cable: u32) -> u32 {
        let below: u32 = (0..level).map(|l| self.width(l) as u32 * self.ports_up(l)).sum();
        below + child * self.ports_up(level) + parent * self.cables[level] + cable
    }

    /// Number of a node among hosts and switches together.
    fn number(&self, level: usize, position: u32) -> u32 {
        (0..level).map(|l| self.width(l) as u32).sum::<u32>() + position
    }

    pub(super) fn route(&self, fabric: &Fabric, src: u32, dst: u32, path: &mut Path) {
        let target = self.label(0, dst);
        let mut label = self.label(0, src);
        let mut level = 0;
        fabric.limiter(src, path);
        // Up until the target is below: the digits of this level and above agree. A host is not
        // below itself: what it sends to itself passes its first switch.
        while level == 0 || label[level..] != target[level..] {
            let here = self.position(level, &label);
            let above: u64 = self.parents[..level].iter().map(|&p| u64::from(p)).product();
            let port = (u64::from(dst) / above % u64::from(self.ports_up(level))) as u32;
            let (parent, cable) = (port % self.parents[level], port / self.parents[level]);
            fabric.up(self.cable(level, here, parent, cable), path);
            label[level] = parent;
            level += 1;
            fabric.limiter(self.number(level, self.position(level, &label)), path);
        }
        // The ports of a switch are numbered cable by cable, within a cable by child. The first
        // step down takes the cable that belongs to the source. As in SimGrid 3.32, each further
        // step takes the next fitting port after the one used before, whatever that one's level.
        let mut next_port = None;
        while level > 0 {
            level -= 1;
            let (digit, children) = (target[level], self.children[level]);
            let by_source = src % self.cables[level] * children + digit;
            let port = match next_port {
                None => by_source,
                Some(next) => {
                    let port = next + (digit + children - next % children) % children;
                    if port < children * self.cables[level] { port } else { by_source }
                }
            };
            next_port = Some(port + 1);
            let parent = std::mem::replace(&mut label[level], digit);
            let below = self.position(level, &label);
            fabric.down(self.cable(level, below, parent, port / children), path);
            fabric.limiter(self.number(level, below), path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_and_labels_of_the_published_tree() {
        // Two levels, 4 leaf switches of 4 hosts, 2 core switches, 2 cables each.
        let tree =
            FatTree { children: [4, 4].into(), parents: [1, 2].into(), cables: [1, 2].into() };
        assert_eq!([tree.width(0), tree.width(1), tree.width(2)], [16, 4, 2]);
        assert_eq!(tree.switches(), 6);
        for level in 0..=2 {
            for position in 0..tree.width(level) as u32 {
                assert_eq!(tree.position(level, &tree.label(level, position)), position);
            }
        }
        // 16 host cables, then 4 leaves x 2 cores x 2 cables.
        assert_eq!(tree.cable(1, 0, 0, 0), 16);
        assert_eq!(tree.cable(1, 3, 1, 1), 31);
    }
}
