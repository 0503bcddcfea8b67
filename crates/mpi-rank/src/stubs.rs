//! Functions of MPI that are not simulated: each stops the program with its name.

macro_rules! stubs {
    ($($name:ident)*) => { $(
        /// Not simulated.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> std::ffi::c_int {
            $crate::call::abort(15, concat!(stringify!($name), " is not simulated"))
        }
        const _: () = {
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            pub extern "C" fn alias() -> std::ffi::c_int {
                $name()
            }
        };
    )* };
}

/// Addresses with which programs and the library compare arguments, under MPICH's names.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: Address = Address(1 as *const i32);
/// No statuses, in calls for several requests.
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: Address = Address(1 as *const i32);
/// Graphs without weights.
#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Address = Address(&raw const UNWEIGHTED);
/// Graphs with no edges.
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Address = Address(&raw const WEIGHTS_EMPTY);
/// Whether an address of weights stands for none.
pub fn is_unweighted(at: *const i32) -> bool {
    at == &raw const UNWEIGHTED || at == &raw const WEIGHTS_EMPTY
}
/// The address that stands for no weights.
pub fn unweighted() -> *mut i32 {
    (&raw const UNWEIGHTED).cast_mut()
}
static UNWEIGHTED: i32 = 0;
static WEIGHTS_EMPTY: i32 = 0;

/// Names of Fortran's module `mpi_f08` and of tools, which programs may refer to.
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Address = Address(1 as *const i32);
/// No statuses, in calls of `mpi_f08` for several requests.
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Address = Address(1 as *const i32);
/// All handles of a performance variable, for tools.
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Address = Address(std::ptr::null());

/// An address that is never followed.
#[repr(transparent)]
pub struct Address(#[allow(dead_code)] *const i32);
// SAFETY: it is never read or written through.
unsafe impl Sync for Address {}

stubs! {
    MPI_Accumulate_c MPI_Allgather_c MPI_Allgather_init MPI_Allgather_init_c MPI_Allgatherv_c
    MPI_Allgatherv_init MPI_Allgatherv_init_c MPI_Allreduce_c MPI_Allreduce_init
    MPI_Allreduce_init_c MPI_Alltoall_c MPI_Alltoall_init MPI_Alltoall_init_c MPI_Alltoallv_c
    MPI_Alltoallv_init MPI_Alltoallv_init_c MPI_Alltoallw_c MPI_Alltoallw_init MPI_Alltoallw_init_c
    MPI_Barrier_init MPI_Bcast_c MPI_Bcast_init MPI_Bcast_init_c MPI_Bsend_c MPI_Bsend_init_c
    MPI_Buffer_attach_c MPI_Buffer_detach_c MPI_Close_port MPI_Comm_accept MPI_Comm_connect
    MPI_Comm_create_from_group   MPI_Comm_join
      MPI_Comm_spawn MPI_Comm_spawn_multiple
    MPI_Compare_and_swap
      MPI_Exscan_c MPI_Exscan_init
    MPI_Exscan_init_c MPI_Fetch_and_op MPI_File_c2f MPI_File_call_errhandler MPI_File_close
    MPI_File_create_errhandler MPI_File_delete MPI_File_f2c MPI_File_get_amode
    MPI_File_get_atomicity MPI_File_get_byte_offset MPI_File_get_errhandler MPI_File_get_group
    MPI_File_get_info MPI_File_get_position MPI_File_get_position_shared MPI_File_get_size
    MPI_File_get_type_extent MPI_File_get_type_extent_c MPI_File_get_view MPI_File_iread
    MPI_File_iread_all MPI_File_iread_all_c MPI_File_iread_at MPI_File_iread_at_all
    MPI_File_iread_at_all_c MPI_File_iread_at_c MPI_File_iread_c MPI_File_iread_shared
    MPI_File_iread_shared_c MPI_File_iwrite MPI_File_iwrite_all MPI_File_iwrite_all_c
    MPI_File_iwrite_at MPI_File_iwrite_at_all MPI_File_iwrite_at_all_c MPI_File_iwrite_at_c
    MPI_File_iwrite_c MPI_File_iwrite_shared MPI_File_iwrite_shared_c MPI_File_open
    MPI_File_preallocate MPI_File_read MPI_File_read_all MPI_File_read_all_begin
    MPI_File_read_all_begin_c MPI_File_read_all_c MPI_File_read_all_end MPI_File_read_at
    MPI_File_read_at_all MPI_File_read_at_all_begin MPI_File_read_at_all_begin_c
    MPI_File_read_at_all_c MPI_File_read_at_all_end MPI_File_read_at_c MPI_File_read_c
    MPI_File_read_ordered MPI_File_read_ordered_begin MPI_File_read_ordered_begin_c
    MPI_File_read_ordered_c MPI_File_read_ordered_end MPI_File_read_shared MPI_File_read_shared_c
    MPI_File_seek MPI_File_seek_shared MPI_File_set_atomicity MPI_File_set_errhandler
    MPI_File_set_info MPI_File_set_size MPI_File_set_view MPI_File_sync MPI_File_write
    MPI_File_write_all MPI_File_write_all_begin MPI_File_write_all_begin_c MPI_File_write_all_c
    MPI_File_write_all_end MPI_File_write_at MPI_File_write_at_all MPI_File_write_at_all_begin
    MPI_File_write_at_all_begin_c MPI_File_write_at_all_c MPI_File_write_at_all_end
    MPI_File_write_at_c MPI_File_write_c MPI_File_write_ordered MPI_File_write_ordered_begin
    MPI_File_write_ordered_begin_c MPI_File_write_ordered_c MPI_File_write_ordered_end
    MPI_File_write_shared MPI_File_write_shared_c MPI_Gather_c MPI_Gather_init MPI_Gather_init_c
    MPI_Gatherv_c MPI_Gatherv_init MPI_Gatherv_init_c MPI_Get_accumulate MPI_Get_accumulate_c
    MPI_Get_c MPI_Get_count_c MPI_Get_elements_c   MPI_Grequest_complete
    MPI_Grequest_start MPI_Group_from_session_pset MPI_Iallgather_c MPI_Iallgatherv_c
    MPI_Iallreduce_c MPI_Ialltoall_c MPI_Ialltoallv_c MPI_Ialltoallw_c MPI_Ibcast_c MPI_Ibsend_c
    MPI_Iexscan_c MPI_Igather_c MPI_Igatherv_c   MPI_Imrecv_c
     MPI_Ineighbor_allgather_c
    MPI_Ineighbor_allgatherv_c  MPI_Ineighbor_alltoall_c
     MPI_Ineighbor_alltoallv_c
    MPI_Ineighbor_alltoallw_c
    MPI_Intercomm_create_from_groups  MPI_Irecv_c MPI_Ireduce_c
    MPI_Ireduce_scatter_block_c MPI_Ireduce_scatter_c MPI_Irsend_c MPI_Iscan_c MPI_Iscatter_c
    MPI_Iscatterv_c MPI_Isend_c MPI_Isendrecv MPI_Isendrecv_c MPI_Isendrecv_replace
    MPI_Isendrecv_replace_c MPI_Issend_c MPI_Lookup_name   MPI_Mrecv_c
     MPI_Neighbor_allgather_c MPI_Neighbor_allgather_init
    MPI_Neighbor_allgather_init_c  MPI_Neighbor_allgatherv_c
    MPI_Neighbor_allgatherv_init MPI_Neighbor_allgatherv_init_c
    MPI_Neighbor_alltoall_c MPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c
     MPI_Neighbor_alltoallv_c MPI_Neighbor_alltoallv_init
    MPI_Neighbor_alltoallv_init_c  MPI_Neighbor_alltoallw_c
    MPI_Neighbor_alltoallw_init MPI_Neighbor_alltoallw_init_c MPI_Op_create_c MPI_Open_port
    MPI_Pack_c  MPI_Pack_external_c
    MPI_Pack_external_size_c MPI_Pack_size_c MPI_Parrived MPI_Pready MPI_Pready_list
    MPI_Pready_range MPI_Precv_init MPI_Psend_init MPI_Publish_name MPI_Put_c MPI_Raccumulate
    MPI_Raccumulate_c MPI_Recv_c MPI_Recv_init_c MPI_Reduce_c MPI_Reduce_init MPI_Reduce_init_c
    MPI_Reduce_local_c MPI_Reduce_scatter_block_c MPI_Reduce_scatter_block_init
    MPI_Reduce_scatter_block_init_c MPI_Reduce_scatter_c MPI_Reduce_scatter_init
    MPI_Reduce_scatter_init_c MPI_Register_datarep MPI_Register_datarep_c MPI_Rget
    MPI_Rget_accumulate MPI_Rget_accumulate_c MPI_Rget_c MPI_Rput MPI_Rput_c MPI_Rsend_c
    MPI_Rsend_init_c MPI_Scan_c MPI_Scan_init MPI_Scan_init_c MPI_Scatter_c MPI_Scatter_init
    MPI_Scatter_init_c MPI_Scatterv_c MPI_Scatterv_init MPI_Scatterv_init_c MPI_Send_c
    MPI_Send_init_c MPI_Sendrecv_c MPI_Sendrecv_replace_c MPI_Session_call_errhandler
    MPI_Session_create_errhandler MPI_Session_finalize MPI_Session_get_errhandler
    MPI_Session_get_info MPI_Session_get_nth_pset MPI_Session_get_num_psets
    MPI_Session_get_pset_info MPI_Session_init MPI_Session_set_errhandler MPI_Ssend_c
    MPI_Ssend_init_c    MPI_T_category_changed
    MPI_T_category_get_categories MPI_T_category_get_cvars MPI_T_category_get_events
    MPI_T_category_get_index MPI_T_category_get_info MPI_T_category_get_num
    MPI_T_category_get_num_events MPI_T_category_get_pvars MPI_T_cvar_get_index MPI_T_cvar_get_info
    MPI_T_cvar_get_num MPI_T_cvar_handle_alloc MPI_T_cvar_handle_free MPI_T_cvar_read
    MPI_T_cvar_write MPI_T_enum_get_info MPI_T_enum_get_item MPI_T_event_callback_get_info
    MPI_T_event_callback_set_info MPI_T_event_copy MPI_T_event_get_index MPI_T_event_get_info
    MPI_T_event_get_num MPI_T_event_get_source MPI_T_event_get_timestamp MPI_T_event_handle_alloc
    MPI_T_event_handle_free MPI_T_event_handle_get_info MPI_T_event_handle_set_info
    MPI_T_event_read MPI_T_event_register_callback MPI_T_event_set_dropped_handler MPI_T_finalize
    MPI_T_init_thread MPI_T_pvar_get_index MPI_T_pvar_get_info MPI_T_pvar_get_num
    MPI_T_pvar_handle_alloc MPI_T_pvar_handle_free MPI_T_pvar_read MPI_T_pvar_readreset
    MPI_T_pvar_reset MPI_T_pvar_session_create MPI_T_pvar_session_free MPI_T_pvar_start
    MPI_T_pvar_stop MPI_T_pvar_write MPI_T_source_get_info MPI_T_source_get_num
    MPI_T_source_get_timestamp MPI_Type_contiguous_c
    MPI_Type_create_darray_c
     MPI_Type_create_hindexed_block_c MPI_Type_create_hindexed_c
    MPI_Type_create_hvector_c MPI_Type_create_indexed_block_c
    MPI_Type_create_resized_c MPI_Type_create_struct_c MPI_Type_create_subarray_c
       MPI_Type_get_contents_c
    MPI_Type_get_envelope_c MPI_Type_get_extent_c MPI_Type_get_true_extent_c
     MPI_Type_indexed_c  MPI_Type_size_c
    MPI_Type_vector_c MPI_Unpack_c  MPI_Unpack_external_c MPI_Unpublish_name
    MPI_Win_allocate_c MPI_Win_allocate_shared MPI_Win_allocate_shared_c MPI_Win_attach
    MPI_Win_call_errhandler MPI_Win_complete MPI_Win_create_c MPI_Win_create_dynamic
    MPI_Win_create_errhandler   MPI_Win_detach
    MPI_Win_flush MPI_Win_flush_all MPI_Win_flush_local MPI_Win_flush_local_all
    MPI_Win_get_errhandler MPI_Win_get_info MPI_Win_lock MPI_Win_lock_all MPI_Win_post
     MPI_Win_set_info MPI_Win_shared_query MPI_Win_shared_query_c MPI_Win_start
    MPI_Win_sync MPI_Win_test MPI_Win_unlock MPI_Win_unlock_all MPI_Win_wait
}
