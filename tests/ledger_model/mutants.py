"""What the product could have forgotten: for each guard of the model, a call that shows it."""

from tests.ledger_model.world import Variant

MUTANTS: dict[str, tuple[Variant, int, str]] = {
    "claim_is_conditional": ("local", 0, "it is claimed"),
    "claim_is_fenced": ("local", 1, "under the lease of another one"),
    "claim_is_first": ("local", 0, "the effect began after the call was expired"),
    "claim_is_shielded": ("local", 1, "nothing was decided"),
    "lease_is_exclusive": ("local", 0, "a yes was lost"),
    "late_start_confirms": ("local", 1, "the effect began after the call was unknown"),
    "unknown_is_looked_at": ("local", 1, "people were told not_executed, and it is pending"),
    "look_waits": ("local", 1, "a yes was lost"),
    "outcome_is_conditional": ("local", 1, "people were told done and unknown"),
    "outcome_is_first": ("local", 0, "people were told done, and it is claimed"),
    "orphans_are_settled": ("local", 1, "claimed for ever"),
    "orphans_have_no_worker": ("local", 0, "a yes was lost"),
    "restore_begins_an_epoch": ("local", 1, "the call took effect"),
    "timeline_is_checked": ("local", 1, "what took effect"),
    "delete_waits": ("local", 0, "the effect began after the call was unknown"),
    "branch_closes": ("local", 0, "its answer was over"),
    "task_closes": ("sub-agent", 0, "its task was over"),
    "pass_is_first": ("hosted", 1, "the call took effect"),
    "passed_is_unknown": ("hosted", 1, "the call took effect"),
    "late_pass_confirms": ("hosted", 1, "the effect began after the call was unknown"),
    "restored_pass_is_unknown": ("hosted", 2, "the call took effect, and is not_executed"),
    "old_yes_begins_nothing": ("task", 1, "the call took effect twice"),
    "edit_is_what_runs": ("local", 0, "what took effect is 'yes'"),
}
"""The variant, how many things have to break, and words of the promise that is broken."""
