import { useCopilotKit } from "@copilotkit/react-core/v2";
import { useEffect } from "react";
import type { LedgerStore } from "../components/confirm-card/Ledger";
import type { Json } from "../components/confirm-card/values";

/**
 * Whoever says something else while interrupts are open leaves them, and each run that does so says it: an entry with the
 * status `cancelled` for each. Without it the client refuses the message, and silence would leave the call open (AG-UI).
 * So it is for a message that is changed, and for another answer: the history ends at what the person said then, too.
 * What was decided before goes out with it as it was decided.
 */
export function useLeave(store: LedgerStore) {
  const { copilotkit } = useCopilotKit();
  useEffect(() => {
    const run = copilotkit.runAgent;
    copilotkit.runAgent = (options) => {
      const said = options.agent.messages.at(-1)?.role === "user" && !options.resume;
      const left = said ? options.agent.pendingInterrupts.map(({ id }) => entry(id, store.given.get(id))) : [];
      return run.call(copilotkit, left.length > 0 ? { ...options, resume: left } : options);
    };
    return () => {
      copilotkit.runAgent = run;
    };
  }, [copilotkit, store]);
}

const entry = (interruptId: string, payload: Json | undefined) => (payload ? { interruptId, status: "resolved" as const, payload } : { interruptId, status: "cancelled" as const });
