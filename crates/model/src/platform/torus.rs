//! Torus clusters: a grid of nodes in any number of dimensions, the ends of each dimension
//! joined. Routing goes dimension by dimension, the first dimension first, the shorter way
//! round (rightwards when both are equally long and the start is in the lower half).

use super::cluster::Fabric;
use super::route::Path;

/// Sizes of the dimensions; node `rank` has coordinates in mixed radix, first dimension fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Torus {
    pub(super) dimensions: Box<[u32]>,
}

impl Torus {
    pub(super) fn nodes(&self) -> u64 {
        self.dimensions.iter().map(|&d| u64::from(d)).product()
    }

    /// The node after `rank` in dimension `j`.
    pub(super) fn right_of(&self, rank: u32, j: usize) -> u32 {
        let stride: u32 = self.dimensions[..j].iter().product();
        let size = self.dimensions[j];
        if rank / stride % size == size - 1 { rank - (size - 1) * stride } else { rank + stride }
    }

    /// The link from `rank` to the node on its right in dimension `j` is the fabric's
    /// `rank * dimensions + j`-th.
    pub(super) fn route(&self, fabric: &Fabric, src: u32, dst: u32, path: &mut Path) {
        let links_per_node = self.dimensions.len() as u32;
        fabric.limiter(src, path);
        let mut node = src;
        let mut stride = 1;
        for (j, &size) in self.dimensions.iter().enumerate() {
            let (here, there) = (src / stride % size, dst / stride % size);
            let rightwards = (there > here && there <= here + size / 2)
                || (here > size / 2 && (here + size / 2) % size >= there);
            while node / stride % size != there {
                if rightwards {
                    fabric.up(node * links_per_node + j as u32, path);
                    node = self.right_of(node, j);
                } else {
                    let at = node / stride % size;
                    node = if at == 0 { node + (size - 1) * stride } else { node - stride };
                    fabric.down(node * links_per_node + j as u32, path);
                }
                fabric.limiter(node, path);
            }
            stride *= size;
        }
    }
}
