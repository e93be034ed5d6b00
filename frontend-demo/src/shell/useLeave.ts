import { useCopilotKit } from "@copilotkit/react-core/v2";
import { useEffect } from "react";

/**
 * Whoever says something else while interrupts are open leaves them, and each run that does so says it: an entry with the
 * status `cancelled` for each. Without it the client refuses the message, and silence would leave the call open (AG-UI).
 * So it is for a message that is changed, and for another answer: the history ends at what the person said then, too.
 */
export function useLeave() {
  const { copilotkit } = useCopilotKit();
  useEffect(() => {
    const run = copilotkit.runAgent;
    copilotkit.runAgent = (options) => {
      const said = options.agent.messages.at(-1)?.role === "user" && !options.resume;
      const left = said ? options.agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" as const })) : [];
      return run.call(copilotkit, left.length > 0 ? { ...options, resume: left } : options);
    };
    return () => {
      copilotkit.runAgent = run;
    };
  }, [copilotkit]);
}
