import { useHumanInTheLoop } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { z } from "zod";
import { ApprovalCard, type Ask, type Decision } from "./ApprovalCard";
import { DecisionLine } from "./DecisionLine";
import { makeFields, parseObject, type Json } from "./values";

const parameters = z.object({
  function_name: z.string(),
  function_call_id: z.string(),
  function_arguments: z.record(z.string(), z.unknown()),
  steps: z.array(z.object({ description: z.string(), status: z.string() })),
  editable: z.array(z.string()).optional(),
  expires_at: z.string().optional(),
});

type Card = z.infer<typeof parameters>;

/** Registers the confirm card with the chat. Render it once inside `CopilotKitProvider`; it draws nothing by itself. */
export function ConfirmCard() {
  useHumanInTheLoop<Card>({
    name: "confirm_changes",
    description: "Show a confirm card for a call and wait for the person's decision.",
    parameters,
    render: ({ args, status, respond, result }) => <Confirm args={args} live={status === "executing"} respond={respond} result={result} />,
  });
  return null;
}

interface Props {
  args: Partial<Card>; // partial while it streams
  live: boolean;
  respond?: (answer: unknown) => Promise<void>;
  result?: unknown;
}

function Confirm({ args, live, respond, result }: Props) {
  const [decided, setDecided] = useState<Decision | null>(null);
  const ask = toAsk(args);
  if (!ask) return null;
  const decision = toDecision(result) ?? decided;
  if (decision) return <DecisionLine ask={ask} decision={decision} />;
  if (result !== undefined) return null; // closed without an answer: the call's chip says what became of it
  if (!live || !respond) return <p className="gate-next" data-testid="gate-next">Next: {ask.message ?? ask.tool}</p>;
  const decide = (made: Decision) => {
    setDecided(made);
    void respond(toAnswer(ask, made));
  };
  return <ApprovalCard ask={ask} onDecide={decide} />;
}

function toAsk(card: Partial<Card>): Ask | null {
  if (!card.function_name || !card.function_call_id) return null;
  const values = card.function_arguments ?? {};
  const message = card.steps?.[0]?.description;
  return {
    tool: card.function_name,
    arguments: values,
    message: message === `Execute ${card.function_name}` ? undefined : message, // says no more than the title
    expiresAt: card.expires_at,
    fields: makeFields(card.editable ?? [], values),
  };
}

/** The card's answer: an edit replaces all arguments. */
function toAnswer(ask: Ask, { approved, reason, edits }: Decision): Json {
  const answer: Json = { accepted: approved };
  if (reason) answer.reason = reason;
  if (edits) answer.edited_arguments = { ...ask.arguments, ...edits };
  return answer;
}

/** The decision in a card's result, for a card of an earlier visit; null if it is no answer. */
function toDecision(result: unknown): Decision | null {
  const answer = typeof result === "string" ? parseObject(result) : (result as Json | null | undefined);
  const approved = answer?.accepted ?? answer?.approved;
  if (typeof approved !== "boolean") return null;
  return {
    approved,
    reason: typeof answer?.reason === "string" ? answer.reason : undefined,
    edits: answer?.edited_arguments as Json | undefined,
  };
}
