//! Dragonfly clusters in the manner of the Cray XC: nodes on blades, blades joined by green
//! links inside a chassis, chassis by black links inside a group, groups by blue links.
//!
//! J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology",
//! ISCA 2008. Minimal routing; the blue link from group g to group h leaves from blade h of the
//! first chassis of g.

use super::cluster::Fabric;
use super::route::Path;

/// Numbers of groups, chassis, blades and nodes, and of parallel links of each colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dragonfly {
    pub(super) groups: u32,
    pub(super) blue: u32,
    pub(super) chassis: u32,
    pub(super) black: u32,
    pub(super) blades: u32,
    pub(super) green: u32,
    pub(super) nodes: u32,
}

/// Index of the pair (a, b), a < b, among all pairs of n in lexicographic order.
fn pair(n: u32, a: u32, b: u32) -> u32 {
    a * n - a * (a + 1) / 2 + (b - a - 1)
}

impl Dragonfly {
    /// One router per blade.
    pub(super) fn routers(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.chassis) * u64::from(self.blades)
    }

    pub(super) fn hosts(&self) -> u64 {
        self.routers() * u64::from(self.nodes)
    }

    fn router(&self, group: u32, chassis: u32, blade: u32) -> u32 {
        (group * self.chassis + chassis) * self.blades + blade
    }

    /// Links are numbered: local by node, green by chassis and pair of blades, black by group,
    /// pair of chassis and blade, blue by pair of groups.
    fn green_link(&self, group: u32, chassis: u32, a: u32, b: u32) -> u32 {
        let pairs = self.blades * (self.blades - 1) / 2;
        self.hosts() as u32 + (group * self.chassis + chassis) * pairs + pair(self.blades, a, b)
    }

    fn black_link(&self, group: u32, a: u32, b: u32, blade: u32) -> u32 {
        let green_pairs = self.blades * (self.blades - 1) / 2;
        let green = self.groups * self.chassis * green_pairs;
        let pairs = self.chassis * (self.chassis - 1) / 2;
        let at = (group * pairs + pair(self.chassis, a, b)) * self.blades + blade;
        self.hosts() as u32 + green + at
    }

    fn blue_link(&self, a: u32, b: u32) -> u32 {
        let black_pairs = self.chassis * (self.chassis - 1) / 2;
        let black = self.groups * black_pairs * self.blades;
        self.black_link(0, 0, 1, 0) + black + pair(self.groups, a, b)
    }

    pub(super) fn route(&self, fabric: &Fabric, src: u32, dst: u32, path: &mut Path) {
        let place = |rank: u32| {
            let router = rank / self.nodes;
            let chassis = router / self.blades;
            (chassis / self.chassis, chassis % self.chassis, router % self.blades)
        };
        let visit = |(group, chassis, blade), path: &mut Path| {
            fabric.limiter(self.hosts() as u32 + self.router(group, chassis, blade), path);
        };
        let green = |(group, chassis, from): (u32, u32, u32), to: u32, path: &mut Path| {
            let link = self.green_link(group, chassis, from.min(to), from.max(to));
            fabric.either(link, from < to, path);
        };
        let black = |(group, from, blade): (u32, u32, u32), to: u32, path: &mut Path| {
            let link = self.black_link(group, from.min(to), from.max(to), blade);
            fabric.either(link, from < to, path);
        };
        let target = place(dst);
        let mut here = place(src);
        fabric.limiter(src, path);
        fabric.up(src, path);
        visit(here, path);
        if here.0 != target.0 {
            if here.2 != target.0 {
                green(here, target.0, path);
                here.2 = target.0;
                visit(here, path);
            }
            if here.1 != 0 {
                black(here, 0, path);
                here.1 = 0;
                visit(here, path);
            }
            let link = self.blue_link(here.0.min(target.0), here.0.max(target.0));
            fabric.either(link, here.0 < target.0, path);
            here = (target.0, 0, here.0);
            visit(here, path);
        }
        if here.2 != target.2 {
            green(here, target.2, path);
            // As in SimGrid 3.32, the route continues in the first chassis even when the blade was
            // reached in another one: the same file must give the same dates.
            here = (here.0, 0, target.2);
            visit(here, path);
        }
        if here.1 != target.1 {
            black(here, target.1, path);
            visit(target, path);
        }
        fabric.down(dst, path);
        fabric.limiter(dst, path);
    }
}
