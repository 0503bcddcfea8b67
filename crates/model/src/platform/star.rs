//! Star routing, the shape of a flat cluster: every host has private links to a centre, which
//! may be a backbone link.
//!
//! From `s` to `d`: limiter and up link of `s`, backbone, down link and limiter of `d`; a link
//! met twice counts once. A router is the centre itself and adds no private link.

use super::route::Path;
use super::zone::Member;
use crate::LinkId;

/// The private links of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StarLeaf {
    /// Crossed by what the host sends.
    pub up: Option<LinkId>,
    /// Crossed by what the host receives; the same as `up` when the link is not duplex.
    pub down: Option<LinkId>,
    /// Crossed by all the host sends and receives.
    pub limiter: Option<LinkId>,
    /// Crossed by what the host sends to itself.
    pub loopback: Option<LinkId>,
}

/// A star of hosts around an optional backbone.
#[derive(Clone, Debug, Default)]
pub(super) struct Star {
    /// By rank of the host in its zone.
    pub(super) leaves: Vec<StarLeaf>,
    pub(super) backbone: Option<LinkId>,
}

impl Star {
    /// Appends the links from `src` to `dst`; `rank` gives the place of a host in the zone.
    /// `false` when a member cannot be reached this way.
    pub(super) fn route(
        &self,
        (src, src_rank): (Member, u32),
        (dst, dst_rank): (Member, u32),
        path: &mut Path,
    ) -> bool {
        let leaf = |member, rank: u32| match member {
            Member::Host(_) => Some(self.leaves.get(rank as usize).copied().unwrap_or_default()),
            Member::Router(_) => Some(StarLeaf::default()),
            Member::Zone(_) => None,
        };
        let (Some(from), Some(to)) = (leaf(src, src_rank), leaf(dst, dst_rank)) else {
            return false;
        };
        if src == dst
            && let Some(loopback) = from.loopback
        {
            path.push(loopback);
            return true;
        }
        let way = [from.limiter, from.up, self.backbone, to.down, to.limiter];
        for (i, link) in way.iter().enumerate() {
            if let Some(link) = link
                && !way[..i].contains(&Some(*link))
            {
                path.push(*link);
            }
        }
        true
    }
}
