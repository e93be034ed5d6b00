import { useAgent, useCopilotKit, type ReactCustomMessageRenderer } from "@copilotkit/react-core/v2";
import { useEffect, useState } from "react";
import { useAllRecords, useUnread } from "../components/confirm-card/Ledger";

/** What stands below the last message while nobody has asked for an answer to it. For `renderCustomMessages` of `CopilotKitProvider`. */
export const unread: ReactCustomMessageRenderer[] = [
  { render: ({ message, position }) => (position === "after" && message.role !== "user" ? <Unread after={message.id} /> : null) },
];

const LEFT = "Approved, but nothing is at work on it. The server may have been restarted.";
const PATIENCE = 2000; // ms in which a conversation that goes on by itself begins to

/** A call of this chat was decided elsewhere, or left behind by a server that was killed, and that is all: the assistant is told when somebody wants it to go on. */
function Unread({ after }: { after: string }) {
  const { agent } = useAgent({ updates: [] });
  const { copilotkit } = useCopilotKit();
  const isUnread = useUnread(after);
  const isLeft = useAllRecords().some(({ state }) => state === "claimed"); // and nothing is at work on it, else it would not be unread
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = isUnread ? setTimeout(() => setShown(true), PATIENCE) : undefined;
    return () => {
      clearTimeout(timer);
      setShown(false);
    };
  }, [isUnread]);
  if (!isUnread || !isShown) return null;
  const goOn = () => {
    if (!agent.isRunning) void copilotkit.runAgent({ agent });
  };
  return (
    <p className="unread" role="status" data-testid="unread">
      {isLeft ? LEFT : "The assistant has not read this yet."}
      <button className="gate-button" type="button" onClick={goOn}>Go on</button>
    </p>
  );
}
