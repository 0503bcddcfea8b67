//! Collectives as the messages they are made of.
//!
//! An algorithm writes, for one rank, a *script*: sends, receives and waits in their order. The
//! replay runs scripts as it runs the actions of a trace, so that protocols, overheads and
//! contention apply to every message. Ranks in a script are those of the communicator.

mod allgather;
mod allreduce;
mod alltoall;
mod basic;
mod bcast;
pub use basic::bcast as binomial_bcast;
mod choice;
mod mesh;
mod reduce;
mod reduce_scatter;
mod rooted;
mod rules;
mod script;
#[cfg(test)]
mod tests;
mod tree;

pub use choice::{Choice, Ranks, Selector};
pub use script::{Layout, Op, Script, Team};

use crate::action::{Call, Kind};

/// Returns the algorithm of a collective in the background: everything is posted at once, whatever
/// the selector.
pub fn in_background(kind: Kind) -> choice::Selected {
    let algorithm: Algorithm = match kind {
        Kind::Barrier => basic::ibarrier,
        Kind::Bcast => basic::ibcast,
        Kind::Reduce | Kind::Gather | Kind::Gatherv => basic::reduce,
        Kind::Scatter | Kind::Scatterv => basic::scatter,
        Kind::Allreduce | Kind::Allgather | Kind::Allgatherv => basic::allgather,
        Kind::Alltoall | Kind::Alltoallv => basic::alltoallv,
        Kind::ReduceScatter => basic::ireduce_scatter,
        Kind::Scan | Kind::Exscan => basic::scan,
    };
    choice::Selected { algorithm, name: "all at once", by: "background" }
}

/// An algorithm of a collective: writes the script of one rank.
pub type Algorithm = fn(&Call, &mut Team<'_>);

/// Algorithms of a collective by SimGrid's names.
pub fn algorithms(kind: Kind) -> &'static [(&'static str, Algorithm)] {
    match kind {
        Kind::Barrier => &[
            ("default", basic::barrier),
            ("ompi_basic_linear", rooted::barrier_linear),
            ("ompi_tree", rooted::barrier_tree),
            ("ompi_bruck", rooted::barrier_dissemination),
            ("ompi_recursivedoubling", rooted::barrier_doubling),
            ("ompi_doublering", rooted::barrier_double_ring),
            ("mpich_smp", rooted::barrier_smp),
            ("mvapich2_pair", rooted::barrier_doubling),
        ],
        Kind::Bcast => &[
            ("default", basic::bcast),
            ("binomial_tree", basic::bcast),
            ("flattree", bcast::flat),
            ("flattree_pipeline", bcast::flat_pipeline),
            ("NTSB", bcast::binary),
            ("NTSL", bcast::chain),
            ("NTSL_Isend", bcast::chain_nonblocking),
            ("scatter_LR_allgather", bcast::scatter_ring),
            ("scatter_rdb_allgather", bcast::scatter_doubling),
            ("SMP_binary", bcast::smp_binary),
            ("SMP_binomial", bcast::smp_binomial),
            ("SMP_linear", bcast::smp_linear),
            ("ompi_split_bintree", bcast::split_binary),
            ("ompi_pipeline", bcast::ompi_pipeline),
            ("mvapich2_inter_node", bcast::inter_node),
            ("mvapich2_intra_node", bcast::intra_node),
            ("mvapich2_two_level", bcast::two_level),
            ("mvapich2_knomial_intra_node", bcast::knomial),
        ],
        Kind::Reduce => &[
            ("default", basic::reduce),
            ("binomial", reduce::binomial),
            ("flat_tree", reduce::flat),
            ("NTSL", reduce::chain),
            ("scatter_gather", reduce::scatter_gather),
            ("ompi_chain", reduce::ompi_chain),
            ("ompi_pipeline", reduce::ompi_pipeline),
            ("ompi_basic_linear", reduce::flat),
            ("ompi_in_order_binary", reduce::ompi_in_order),
            ("ompi_binary", reduce::ompi_binary),
            ("ompi_binomial", reduce::ompi_binomial),
            ("mvapich2_knomial", reduce::knomial),
            ("mvapich2_two_level", reduce::two_level),
            ("mvapich2_flat_knomial", reduce::flat_knomial),
            ("rab", reduce::rabenseifner),
        ],
        Kind::Allreduce => &[
            ("default", basic::allreduce),
            ("lr", allreduce::logical_ring),
            ("rab1", allreduce::halving_allgather),
            ("rab2", allreduce::alltoall_allgather),
            ("rab_rdb", allreduce::halving_doubling),
            ("rdb", allreduce::recursive_doubling),
            ("smp_binomial", allreduce::smp_binomial),
            ("smp_binomial_pipeline", allreduce::smp_binomial_pipeline),
            ("smp_rdb", allreduce::smp_doubling),
            ("smp_rsag", allreduce::smp_ring),
            ("smp_rsag_lr", allreduce::smp_ring_uneven),
            ("smp_rsag_rab", allreduce::smp_halving),
            ("redbcast", allreduce::reduce_bcast),
            ("ompi_ring_segmented", allreduce::logical_ring),
            ("mvapich2_rs", allreduce::halving_doubling_or_doubling),
            ("mvapich2_two_level", allreduce::two_level),
            ("mvapich2_knomial_two_level", allreduce::two_level_knomial),
            ("rab", allreduce::rabenseifner),
        ],
        Kind::Gather => &[
            ("default", basic::gather),
            ("ompi_basic_linear", rooted::gather_in_turn),
            ("ompi_binomial", rooted::gather_binomial),
            ("ompi_linear_sync", rooted::gather_in_step),
            ("mvapich2_two_level", rooted::gather_two_level),
        ],
        Kind::Gatherv => &[("default", basic::gather)],
        Kind::Scatter => &[
            ("default", basic::scatter),
            ("ompi_basic_linear", rooted::scatter_in_turn),
            ("ompi_linear_nb", basic::scatter),
            ("ompi_binomial", rooted::scatter_binomial),
            ("mvapich2_two_level_binomial", rooted::scatter_two_level),
            ("mvapich2_two_level_direct", rooted::scatter_two_level_direct),
        ],
        Kind::Scatterv => &[("default", basic::scatter)],
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
        Kind::ReduceScatter => &[
            ("default", basic::reduce_scatter),
            ("ompi_basic_recursivehalving", reduce_scatter::recursive_halving),
            ("ompi_ring", reduce_scatter::ring),
            ("ompi_butterfly", reduce_scatter::butterfly),
            ("mpich_pair", reduce_scatter::pairwise),
            ("mpich_rdb", reduce_scatter::recursive_doubling),
            ("mpich_noncomm", reduce_scatter::mirrored),
        ],
        Kind::Scan | Kind::Exscan => &[("default", basic::scan)],
    }
}
