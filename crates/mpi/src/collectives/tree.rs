//! Trees over ranks, seen from one rank. Ranks are counted from the root.

/// The parent and the children of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
}

impl Tree {
    /// The tree of ranks counted from 0, renumbered so that `root` is at its top.
    pub(super) fn rooted(mut self, root: usize, size: usize) -> Tree {
        let real = |rank: usize| (rank + root) % size;
        self.parent = self.parent.map(real);
        self.children.iter_mut().for_each(|child| *child = real(*child));
        self
    }

    /// One after the other.
    pub(super) fn chain(me: usize, size: usize) -> Tree {
        let children = if me + 1 < size { vec![me + 1] } else { Vec::new() };
        Tree { parent: me.checked_sub(1), children }
    }

    /// Heap order: the children of i are 2i + 1 and 2i + 2.
    pub(super) fn heap(me: usize, size: usize) -> Tree {
        let children = (2 * me + 1..2 * me + 3).filter(|&child| child < size).collect();
        Tree { parent: me.checked_sub(1).map(|before| before / 2), children }
    }

    /// Level by level, the children of a rank of level l being 2^l and 2 x 2^l further on.
    pub(super) fn binary(me: usize, size: usize) -> Tree {
        let level = (me + 1).ilog2();
        let step = 1usize << level;
        let children = [me + step, me + 2 * step].into_iter().filter(|&child| child < size);
        let parent = (me > 0).then(|| {
            let above = step / 2;
            // Of the two ranks that lie one or two steps before, the one on the level above.
            let near = me - above;
            if near + 1 >= above && near + 1 < 2 * above { near } else { me - 2 * above }
        });
        Tree { parent, children: children.collect() }
    }

    /// Binomial, smallest subtree first.
    pub(super) fn binomial(me: usize, size: usize) -> Tree {
        let mut tree = Tree::default();
        let mut mask = 1;
        while mask < size {
            if me & mask != 0 {
                tree.parent = Some(me - mask);
                break;
            }
            if me + mask < size {
                tree.children.push(me + mask);
            }
            mask <<= 1;
        }
        tree
    }

    /// k-nomial, nearest first.
    pub(super) fn knomial(me: usize, size: usize, radix: usize) -> Tree {
        let mut tree = Tree::default();
        let mut stride = 1;
        while stride < size {
            let digit = me / stride % radix;
            if digit != 0 {
                tree.parent = Some(me - digit * stride);
                break;
            }
            let below = (1..radix).map(|digit| me + digit * stride).filter(|&child| child < size);
            tree.children.extend(below);
            stride *= radix;
        }
        tree
    }

    /// Some chains below the root, all but the last equally long.
    pub(super) fn chains(me: usize, size: usize, count: usize) -> Tree {
        let length = (size - 1).div_ceil(count).max(1);
        if me == 0 {
            return Tree { parent: None, children: (1..size).step_by(length).collect() };
        }
        let place = (me - 1) % length;
        let next = (place + 1 < length && me + 1 < size).then_some(me + 1);
        let parent = if place == 0 { 0 } else { me - 1 };
        Tree { parent: Some(parent), children: next.into_iter().collect() }
    }

    /// Binary, in whose subtrees ranks follow each other; the last rank is at its top.
    pub(super) fn in_order(me: usize, size: usize) -> Tree {
        let (mut first, mut count, mut above) = (0, size, None);
        loop {
            let top = first + count - 1;
            let right = count / 2;
            let left = count - right - 1;
            if me == top {
                let mut children = Vec::new();
                if count > 1 {
                    children.push(top - 1);
                }
                if count > 2 {
                    children.push(first + right - 1);
                }
                return Tree { parent: above, children };
            }
            above = Some(top);
            if count == 2 {
                count = 1;
            } else if me < first + right {
                count = right;
            } else {
                first += right;
                count = left;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tree_hangs_together() {
        let trees: [fn(usize, usize) -> Tree; 7] = [
            Tree::chain,
            Tree::heap,
            Tree::binary,
            Tree::binomial,
            Tree::in_order,
            |me, size| Tree::knomial(me, size, 4),
            |me, size| Tree::chains(me, size, 4),
        ];
        for (k, tree) in trees.iter().enumerate() {
            for size in 1..40 {
                let roots = (0..size).filter(|&me| tree(me, size).parent.is_none()).count();
                assert_eq!(roots, 1, "tree {k} of {size}");
                for me in 0..size {
                    for child in tree(me, size).children {
                        assert_eq!(tree(child, size).parent, Some(me), "tree {k} of {size}");
                    }
                    if let Some(parent) = tree(me, size).parent {
                        assert!(tree(parent, size).children.contains(&me), "tree {k} of {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn trees_of_open_mpi() {
        assert_eq!(Tree::binary(3, 16).children, [7, 11]);
        assert_eq!(Tree::in_order(7, 8).children, [6, 3]);
        assert_eq!(Tree::in_order(6, 8).children, [5, 4]);
        assert_eq!(Tree::chains(0, 6, 4).children, [1, 3, 5]);
        assert_eq!(Tree::knomial(0, 8, 4).children, [1, 2, 3, 4]);
    }
}
