//! JavaScript hooks in real stacks, in front of an executor that records.
//!
//! V8 wants to be started by the main thread, so this binary runs its tests itself. A
//! test that is not in the list below is dead code, which clippy refuses.

mod bare;
mod descents;
mod harness;
mod layers;
mod limits;
mod loading;
mod verdicts;

use std::process::ExitCode;

fn main() -> ExitCode {
    seam_isolate::init_platform();
    harness::run(harness::tests![
        bare::nothing_of_the_host_has_a_name,
        bare::the_globals_are_the_documented_ones,
        bare::code_from_texts_and_imports_are_refused,
        bare::the_console_is_harmless,
        bare::what_a_file_does_to_its_realm_does_not_reach_the_host,
        layers::zero_one_and_many_descents,
        layers::a_layer_rewrites_what_goes_down_and_comes_back,
        layers::an_untouched_output_stays_the_very_output,
        layers::a_refusal_is_an_error_with_its_properties,
        layers::a_refusal_thrown_on_is_the_original,
        layers::a_refusal_cannot_be_forged_or_kept,
        layers::throwing_denied_denies_and_throwing_else_fails,
        layers::what_a_layer_must_return,
        descents::next_takes_a_document,
        descents::a_bad_input_for_next_names_the_field,
        descents::next_has_no_effect_once_the_layer_has_settled,
        descents::a_descent_nobody_waits_for_has_no_effect,
        descents::descents_in_flight_end_with_the_layer,
        descents::descents_run_side_by_side,
        descents::descents_are_counted,
        descents::changing_the_input_after_next_changes_nothing,
        descents::time_inside_next_counts,
        layers::an_executor_answers,
        layers::bodies_cross_unharmed,
        limits::a_promise_that_nothing_settles_fails_at_once,
        limits::an_endless_loop_ends_and_the_state_stays,
        limits::script_in_odd_places_is_stopped_too,
        limits::a_worker_that_does_not_stop_is_replaced,
        limits::a_catastrophic_pattern_ends,
        limits::nothing_of_a_stopped_call_runs_later,
        limits::a_cancelled_call_leaves_a_working_file,
        limits::a_cancelled_layer_leaves_a_working_file,
        limits::waiting_for_the_turn_has_its_own_bound,
        limits::the_limit_counts_from_the_turn,
        limits::using_up_the_heap_restarts_the_file,
        limits::array_buffers_are_bounded,
        limits::deep_recursion_is_a_failure,
        limits::large_answers_are_bounded,
        loading::a_mistake_names_file_line_and_column,
        loading::a_module_is_told_what_to_do,
        loading::evaluation_ends,
        loading::functions_are_found_however_they_are_declared,
        loading::a_missing_function_lists_those_there_are,
        loading::a_worker_ends_with_its_file,
        verdicts::every_answer_of_the_contract,
        verdicts::what_json_cannot_hold_is_a_failure,
        verdicts::what_is_no_verdict_is_a_failure,
        verdicts::exceptions_are_failures_with_their_text,
        verdicts::post_hooks_get_both_documents,
        verdicts::changing_a_document_changes_nothing,
        verdicts::odd_keys_are_plain_data,
        verdicts::order_is_that_of_the_stack,
        verdicts::state_persists_and_calls_take_turns,
        verdicts::one_file_may_stand_in_several_places,
        verdicts::bodies_are_given_where_granted,
        verdicts::a_forgotten_rejection_is_a_failure,
    ])
}
