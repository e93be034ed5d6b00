import { useCopilotKit } from "@copilotkit/react-core/v2";
import { useEffect } from "react";
import type { LedgerStore } from "../components/confirm-card/Ledger";
import type { Json } from "agui-gate-components/core/types.js";

/**
 * Whoever says something else while interrupts are open leaves them, and each run that does so says it: an entry with the
 * status `cancelled` for each. Without it the client refuses the message, and silence would leave the call open (AG-UI).
 * So it is for a message that is changed, and for another answer: the history ends at what the person said then, too.
 * What was decided before goes out with it as it was decided; so do answers that were sent and never arrived.
 */
export function useLeave(store: LedgerStore) {
  const { copilotkit } = useCopilotKit();
  useEffect(() => {
    const run = copilotkit.runAgent;
    copilotkit.runAgent = (options) => {
      const open = options.resume ? [] : options.agent.pendingInterrupts;
      const isSaid = options.agent.messages.at(-1)?.role === "user";
      const isAgain = open.every(({ id }) => store.given.has(id));
      const resume = isSaid || isAgain ? open.map(({ id }) => entry(id, store.given.get(id))) : [];
      return run.call(copilotkit, resume.length > 0 ? { ...options, resume } : options);
    };
    return () => {
      copilotkit.runAgent = run;
    };
  }, [copilotkit, store]);
}

const entry = (interruptId: string, payload: Json | undefined) => (payload ? { interruptId, status: "resolved" as const, payload } : { interruptId, status: "cancelled" as const });
