# The one table of arrows: what each module may depend on directly. Module.cmake fails the configure
# step when a target asks for more, and tools/tidy.py when an include does.
set(FRESHET_ARROWS_base "")
set(FRESHET_ARROWS_timely_progress base)
set(FRESHET_ARROWS_timely base timely_progress)
set(FRESHET_ARROWS_differential base timely_progress timely)
set(FRESHET_ARROWS_repr base timely_progress)
set(FRESHET_ARROWS_expr base repr)
set(FRESHET_ARROWS_persist base timely_progress repr)
set(FRESHET_ARROWS_persist_dataflow persist timely ${FRESHET_ARROWS_persist})
set(FRESHET_ARROWS_sql base repr expr)
set(FRESHET_ARROWS_storage_api base timely_progress repr expr)
set(FRESHET_ARROWS_compute_api base timely_progress repr expr)
set(FRESHET_ARROWS_storage storage_api timely persist_dataflow ${FRESHET_ARROWS_storage_api}
    ${FRESHET_ARROWS_persist_dataflow})
set(FRESHET_ARROWS_compute compute_api storage_api differential timely persist_dataflow
    ${FRESHET_ARROWS_compute_api} ${FRESHET_ARROWS_persist_dataflow})
set(FRESHET_ARROWS_adapter sql storage_api compute_api persist repr expr timely_progress base)
set(FRESHET_ARROWS_server base timely_progress timely differential repr expr persist persist_dataflow sql
    storage_api compute_api storage compute adapter)
set(FRESHET_ARROWS_testing_core base timely_progress)
set(FRESHET_ARROWS_testing_files base)
set(FRESHET_ARROWS_testing_plans base repr expr timely_progress testing_core)
set(FRESHET_ARROWS_testing_dataflow testing_core timely differential ${FRESHET_ARROWS_testing_core})
set(FRESHET_ARROWS_testing_sim testing_core testing_dataflow server ${FRESHET_ARROWS_server})
list(REMOVE_DUPLICATES FRESHET_ARROWS_persist_dataflow)
list(REMOVE_DUPLICATES FRESHET_ARROWS_storage)
list(REMOVE_DUPLICATES FRESHET_ARROWS_compute)
