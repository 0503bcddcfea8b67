//! Collectives as the messages they are made of.
//!
//! An algorithm writes, for one rank, a *script*: posts, receives and waits in their order. The
//! replay runs scripts as it runs the actions of a trace, so that protocols, overheads and
//! contention apply to every message. Ranks in a script are those of the communicator.

mod allgather;
mod alltoall;
mod basic;
pub use basic::bcast as binomial_bcast;
mod choice;
mod mesh;
mod rules;
mod script;

pub use choice::{Choice, Selector};
pub use script::{Layout, Op, Script, Team};

use crate::action::{Call, Kind};

/// Writes what one rank does.
pub type Algorithm = fn(&Call, &mut Team<'_>);

/// Algorithms of a collective by SimGrid's names.
pub fn algorithms(kind: Kind) -> &'static [(&'static str, Algorithm)] {
    match kind {
        Kind::Barrier => &[("default", basic::barrier)],
        Kind::Bcast => &[("default", basic::bcast)],
        Kind::Reduce => &[("default", basic::reduce)],
        Kind::Allreduce => &[("default", basic::allreduce)],
        Kind::Gather | Kind::Gatherv => &[("default", basic::gather)],
        Kind::Scatter | Kind::Scatterv => &[("default", basic::scatter)],
        Kind::Allgather => &[
            ("default", basic::allgather),
            ("2dmesh", allgather::mesh_2d),
            ("3dmesh", allgather::mesh_3d),
            ("bruck", allgather::bruck),
            ("GB", allgather::gather_bcast),
            ("loosely_lr", allgather::loosely_ring),
            ("NTSLR", allgather::logical_ring),
            ("NTSLR_NB", allgather::logical_ring_nonblocking),
            ("pair", allgather::pairwise),
            ("rdb", allgather::recursive_doubling),
            ("rhv", allgather::recursive_halving),
            ("ring", allgather::ring),
            ("SMP_NTS", allgather::smp_ring),
            ("smp_simple", allgather::smp_simple),
            ("spreading_simple", allgather::spreading),
            ("ompi_neighborexchange", allgather::neighbour_exchange),
            ("mvapich2_smp", allgather::two_level),
        ],
        Kind::Allgatherv => &[
            ("default", basic::allgather),
            ("GB", allgather::gather_bcast),
            ("pair", allgather::pairwise),
            ("ring", allgather::ring),
            ("ompi_neighborexchange", allgather::neighbour_exchange),
            ("ompi_bruck", allgather::bruck),
            ("mpich_rdb", allgather::recursive_doubling),
            ("mpich_ring", allgather::logical_ring),
        ],
        Kind::Alltoall => &[
            ("default", alltoall::linear),
            ("2dmesh", alltoall::mesh_2d),
            ("3dmesh", alltoall::mesh_3d),
            ("basic_linear", alltoall::linear),
            ("bruck", alltoall::bruck),
            ("pair", alltoall::pair),
            ("pair_light_barrier", alltoall::pair_light_barrier),
            ("pair_mpi_barrier", alltoall::pair_mpi_barrier),
            ("pair_one_barrier", alltoall::pair_one_barrier),
            ("rdb", alltoall::recursive_doubling),
            ("ring", alltoall::ring),
            ("ring_light_barrier", alltoall::ring_light_barrier),
            ("ring_mpi_barrier", alltoall::ring_mpi_barrier),
            ("ring_one_barrier", alltoall::ring_one_barrier),
            ("mvapich2_scatter_dest", alltoall::scattered_destinations),
        ],
        Kind::Alltoallv => &[
            ("default", basic::alltoallv),
            ("bruck", alltoall::scattered_destinations),
            ("pair", alltoall::pair),
            ("pair_light_barrier", alltoall::pair_light_barrier),
            ("pair_mpi_barrier", alltoall::pair_mpi_barrier),
            ("pair_one_barrier", alltoall::pair_one_barrier),
            ("ring", alltoall::ring),
            ("ring_light_barrier", alltoall::ring_light_barrier),
            ("ring_mpi_barrier", alltoall::ring_mpi_barrier),
            ("ring_one_barrier", alltoall::ring_one_barrier),
            ("ompi_basic_linear", alltoall::linear),
        ],
        Kind::ReduceScatter => &[("default", basic::reduce_scatter)],
        Kind::Scan | Kind::Exscan => &[("default", basic::scan)],
    }
}
