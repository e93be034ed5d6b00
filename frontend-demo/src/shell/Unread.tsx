import { useAgent, useCopilotKit, UseAgentUpdate, type ReactCustomMessageRenderer } from "@copilotkit/react-core/v2";
import { createContext, useContext, useEffect, useState } from "react";
import { useAllRecords, useUnread } from "../components/confirm-card/Ledger";
import { CutLine, StoppedLine } from "./useCutOff";

/** Whether a banner tells that the last run was lost with its server, and offers to go on. */
export const IsLost = createContext(false);

/** What stands below an answer that was cut off, and below the last message while nobody has asked for an answer to it. For `renderCustomMessages` of `CopilotKitProvider`. */
export const unread: ReactCustomMessageRenderer[] = [
  {
    render: ({ message, position }) =>
      position === "after" && message.role === "user" ? (
        <>
          <Kept after={message.id} />
          <StoppedLine of={message.id} />
        </>
      ) : position === "after" ? (
        <>
          <CutLine of={message.id} />
          <Unread after={message.id} />
        </>
      ) : null,
  },
];

const LEFT = "Approved, but nothing is running it. The server may have been restarted.";
const PATIENCE = 2000; // ms in which a conversation that goes on by itself begins to

/** The person said something while a call waits: it is answered once that is decided. */
function Kept({ after }: { after: string }) {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged, UseAgentUpdate.OnMessagesChanged] });
  const at = agent.messages.findIndex(({ id }) => id === after);
  const waits = new Set(useAllRecords().flatMap(({ state, call_id }) => (state === "pending" ? [call_id] : [])));
  const isAsked = agent.messages.slice(0, at).some((message) => message.role === "assistant" && message.toolCalls?.some(({ id }) => waits.has(id)));
  const isAnswered = agent.messages.slice(at + 1).some(({ role, content }) => role === "user" || (role === "assistant" && content));
  if (!isAsked || isAnswered) return null;
  return <p className="cut" role="status" data-testid="kept">Your message is kept. It is answered after your decision.</p>;
}

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
  const isTold = useContext(IsLost);
  if (!isUnread || !isShown || isTold) return null;
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
