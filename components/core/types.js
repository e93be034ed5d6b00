/**
 * The shapes that the core and the elements share. There is no code here: types are written as JSDoc and checked by
 * `tsc --checkJs --strict`.
 *
 * @typedef {Record<string, unknown>} Json
 *
 * @typedef {object} Schema The parts of JSON Schema that an input is made from.
 * @property {string | string[]} [type]
 * @property {string} [title]
 * @property {string} [description]
 * @property {unknown[]} [enum]
 * @property {unknown} [const]
 * @property {unknown} [default]
 * @property {boolean} [readOnly]
 * @property {string} [unit] What a number is in.
 * @property {number} [minimum]
 * @property {number} [exclusiveMinimum]
 * @property {number} [maximum]
 * @property {Schema[]} [anyOf]
 * @property {Schema[]} [oneOf]
 * @property {Schema[]} [allOf]
 * @property {string} [$ref]
 * @property {Record<string, Schema>} [$defs]
 * @property {string[]} [required]
 * @property {Record<string, Schema>} [properties]
 * @property {Schema} [items]
 *
 * @typedef {"text" | "long" | "lines" | "number" | "integer" | "boolean" | "choice" | "json"} Kind `lines` are strings,
 * one a line; `json` is whatever has no simpler input.
 *
 * @typedef {object} Field One value that a person can fill in.
 * @property {string[]} path Where it is in the values: `["address", "street"]`.
 * @property {string} name The path in one word.
 * @property {string} label
 * @property {Kind} kind
 * @property {unknown} value
 * @property {boolean} required
 * @property {boolean} nullable Left empty, it is null.
 * @property {unknown[]} [options]
 * @property {string} [help]
 * @property {number} [min]
 * @property {number} [above]
 * @property {number} [max]
 *
 * @typedef {object} Earlier A call of the same tool that ran in the same chat.
 * @property {Json} arguments As they ran.
 * @property {string | null} at When it was decided, ISO 8601.
 * @property {string} state
 * @property {boolean} [replaced] The answer that it belongs to is gone.
 * @property {Json} [issued] The arguments before a person changed them.
 * @property {string | null} [message]
 *
 * @typedef {object} Ask What waits for a person.
 * @property {string} id The approval's, which is the interrupt's too; or the card's own call.
 * @property {string} key The call's id, or else `id`: what was typed is kept by it.
 * @property {"approval" | "question"} kind
 * @property {string | null} [callId]
 * @property {string} tool
 * @property {string | null} [agent] Who asks, where that isn't the agent of the chat.
 * @property {Json} arguments
 * @property {Json} [issued] The arguments before somebody edited them.
 * @property {string} [message] A sentence for the person; without one the card says what it always says.
 * @property {string} [refused] Why the last answer wasn't taken, where it is asked again.
 * @property {string | number | null} [expiresAt] ISO 8601, or ms since epoch.
 * @property {Field[]} fields What may be changed or, for a question, what is asked.
 * @property {Schema} [schema] Of the arguments, where it is known.
 * @property {Earlier[]} [earlier]
 * @property {string} [said] The reason that was given before, where it is asked again.
 * @property {People} [people]
 *
 * @typedef {object} People What is known of who asks, and of who may decide; each part may be missing.
 * @property {string} [asker]
 * @property {string | string[] | null} [approvers] A role, or ids; null: whoever the gate's own code says.
 * @property {(string | string[])[]} [escalated] Roles, or ids, of those who were added since.
 * @property {number} [needs] How many persons have to agree.
 * @property {{by: string, at?: string, deputy_of?: string}[]} [approvals] Who has.
 * @property {{to: string, by: string}} [handed_to] The colleague who is to decide it, and who says so.
 * @property {Offer[]} [grants] What a yes may let go besides.
 * @property {string} [frozen] Why nobody can approve it now.
 * @property {string | null} [edited_by] Whose edit is shown.
 * @property {{may: string[], agreed: boolean, why: string | null, deputy_of?: {id: string, until: string}}} [you] What who
 * reads this may do: `approve`, `edit`, `reject`; whether they have agreed; why they can't approve; and in whose place they may.
 *
 * @typedef {object} Offer A scope in which a gate offers not to ask again.
 * @property {string} scope
 * @property {boolean} [in_thread]
 * @property {number} [hours]
 * @property {number | null} [times]
 * @property {string[] | null} [same] The arguments that stay the same; null: all.
 * @property {string} [field]
 * @property {number | null} [up_to]
 * @property {number | null} [total]
 *
 * @typedef {object} Decision
 * @property {boolean} approved
 * @property {string} [reason]
 * @property {Json} [edits] The arguments that were changed, whole; only where something was.
 * @property {Json} [answer] To a question; without one it is declined.
 * @property {{scope: string}} [grant] What is not asked again.
 * @property {Json} [seen] The arguments that were on the card, where several people decide: a yes is to those.
 *
 * @typedef {"pending" | "claimed" | "done" | "failed" | "unknown" | "rejected" | "superseded" | "cancelled" | "expired"} State
 *
 * @typedef {object} CallRecord The server's record of a gated call, as `GET /threads/{id}?view=calls` has it. Results
 * and messages carry short ones, in which any part may be missing but the state.
 * @property {string} [id]
 * @property {string} [call_id]
 * @property {string} [tool]
 * @property {string | null} [agent]
 * @property {Json} [arguments] As they were issued.
 * @property {Json} [effective_arguments] As they ran, or would run.
 * @property {State} state
 * @property {{approved: boolean, by?: string, at?: string | null, way?: string | null, reason?: string, grant?: string, deputy_of?: string, break_glass?: boolean} | null} [decision]
 * @property {string | null} [message]
 * @property {string | null} [result]
 * @property {boolean} [replaced]
 * @property {boolean} [task] It starts a task.
 * @property {string} [asker]
 * @property {string} [frozen] Why nobody can approve it now.
 * @property {{by: string, at?: string}[]} [approvals] Who has agreed.
 *
 * @typedef {(name: string, value: unknown) => string | null} Unit What a number is in, or null.
 *
 * @typedef {Record<string, string>} Strings
 */

export {};
