//! The tables of docs/support-matrix.md.

use std::collections::BTreeSet;

use pypto::ops::OpKind;

use crate::read;

const STATUS: [&str; 6] = ["op", "yes", "part", "not yet", "later", "no"];

/// The cells of every row, without headings and without the table of the statuses.
fn rows() -> Vec<[String; 3]> {
    let text = read("docs/support-matrix.md");
    let table = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells = table.map(|line| {
        // `\|` is no border.
        let line = line.replace("\\|", "\u{1}");
        line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect::<Vec<String>>()
    });
    let rows = cells.filter(|cells| cells.len() != 2 && cells[0] != "there");
    rows.map(|cells| <[String; 3]>::try_from(cells).unwrap_or_else(|cells| panic!("{cells:?}"))).collect()
}

/// The operations that a row names: the code spans before the colon.
fn named(here: &str) -> Vec<&str> {
    let before = here.split_once(':').map_or(here, |(before, _)| before);
    before.split('`').skip(1).step_by(2).collect()
}

#[test]
fn rows_are_whole_and_distinct() {
    let rows = rows();
    assert!(rows.len() > 200, "{} rows", rows.len());
    for (index, [there, status, here]) in rows.iter().enumerate() {
        assert!(!there.is_empty() && !here.is_empty(), "{there}: {status}: {here}");
        assert!(STATUS.contains(&status.as_str()), "{there}: no status `{status}`");
        assert!(rows[..index].iter().all(|other| other[0] != *there), "{there} is there twice");
    }
}

#[test]
fn operations_of_the_matrix_are_those_of_the_table() {
    let mut found = BTreeSet::new();
    for [there, _, here] in rows().iter().filter(|row| row[1] == "op") {
        let names = named(here);
        assert!(!names.is_empty(), "{there}: `{here}` names no operation");
        for name in names {
            let kind = OpKind::from_name(name);
            found.insert(kind.unwrap_or_else(|| panic!("{there}: the table has no operation `{name}`")));
        }
    }
    let missing: Vec<&str> = OpKind::ALL.iter().filter(|kind| !found.contains(kind)).map(|kind| kind.name()).collect();
    assert!(missing.is_empty(), "docs/support-matrix.md names no row for {missing:?}");
}

/// Names of the original: constructs, then operations.
const NAMES: &str = "
    Opaque Orchestration InCore AIC AIV Group Spmd Graph pl.jit pl.jit.host pl.jit.incore pl.jit.inline pl.jit.opaque
    pl.jit.extern pl.function pl.program pl.inline SubWorker pl.func_attr auto_scope strict_ssa external_source Level Role
    BOOL INT4 INT8 INT16 INT32 INT64 UINT4 UINT8 UINT16 UINT32 UINT64 FP16 BF16 FP32 FP4 FP8E4M3FN FP8E5M2 FP8E8M0 HF4 HF8
    INDEX TASK_ID x.dtype get_byte pl.const pl.Tensor pl.Tile pl.Scalar pl.Array pl.Tuple pld.DistributedTensor pl.Out pl.InOut
    ND DN NZ MX_A_ZZ MX_B_NN pl.TensorView pl.TileView valid_shape PadValue pl.dynamic bind_dynamic pl.dim pl.MemRef
    Vec Mat Left Right Acc Bias pl.range pl.parallel pl.unroll pl.pipeline stage init_values pl.while_ pl.cond pl.yield_
    pl.at pl.spmd pl.cluster pl.split_aiv pl.scope pl.manual_scope pl.split cross_core_slot windowize name_hint
    pl.submit pl.spmd_submit deps task_dummy task_invalid no_dep no_dep_args manual_dep predicate allow_early_resolve
    dump_tag pl.static_print pl.static_assert pl.adir pl.RUNTIME pl.AUTO break continue while if for return with assert
    SSAVerify TypeCheck UseAfterDef NoNestedCall OutParamNotShadowed OutParamWriteDropped InOutUseValid NoNestedInCore
    PipelineLoopValid ArrayNotEscaped ManualDepsOnSubmitOnly AtomicAddDtypeValid AivSplitValid HardSyncallOccupancy
    AccToGmStoreValid PH001
    create_tensor create_tile create_l1 full arange ci tri random expands array.create get_element update_element
    load store move extract assemble slice reshape transpose transpose_view view reinterpret_view concat set_validshape
    fillpad fillpad_inplace fillpad_expand read write gather_row paged_gather
    add adds sub subs mul muls div divs fmod fmods rem rems maximum maximums minimum minimums part_add part_mul part_max
    part_min addc subc addsc subsc neg abs recip exp sqrt rsqrt log sin cos relu lrelu prelu cast and_ ands or_ ors xor xors
    not_ shl shls shr shrs cmp cmps sel sels
    row_sum row_max row_min row_prod row_argmax row_argmin col_sum col_max col_min col_prod col_argmax col_argmin
    row_expand row_expand_add row_expand_expdif col_expand col_expand_add col_expand_expdif expand_clone
    matmul out_dtype c_matrix_nz matmul_acc init_cond matmul_bias batch_matmul batch_matmul_acc gemv gemv_acc gemv_bias
    acc_phase matmul_mx gather gather_mask gather_compare gatherb mgather mscatter scatter scatter_mask scatter_update
    sort32 mrgsort get_block_idx get_block_num get_subblock_idx aiv_shard aic_gather tpush_to_aiv tpop_from_aic
    tfree_to_aic initialize_pipe reserve_buffer import_peer_buffer bar_v bar_m bar_all fence cacheinvalid syncall sync_src
    sync_dst sync_set sync_wait set_ffts available_cluster_count available_aiv_count make_context async_prefetch session
    alloc_window_buffer window world_size get_comm_ctx rank nranks notify wait defer_wait remote_load remote_store put get
    allreduce allgather reduce_scatter broadcast all_to_all all_to_all_v barrier";

#[test]
fn every_name_of_the_original_has_a_row() {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let rows = rows();
    let words: BTreeSet<&str> = rows.iter().flat_map(|[there, ..]| there.split(|c| !is_part(c))).collect();
    for name in NAMES.split_whitespace() {
        let found = words.iter().any(|word| *word == name || word.rsplit('.').next() == Some(name));
        assert!(found, "`{name}` is in no row");
    }
}
