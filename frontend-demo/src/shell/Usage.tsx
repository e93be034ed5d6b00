import type { ChatUsage, RunUsage } from "./useConversation";

/** How long the last run took and what it cost in tokens; and what the chat has used, where that is more. */
export function Usage({ run, chat }: { run: RunUsage | null; chat: ChatUsage | null }) {
  const isMore = chat !== null && chat.tokens > (run ? run.input + run.output : 0);
  if (!run && !isMore) return null;
  return (
    <p className={isMore ? "usage with-chat" : "usage"} data-testid="usage">
      {[run && ofRun(run), isMore && ofChat(chat)].filter(Boolean).join(" · ")}
    </p>
  );
}

function ofRun({ seconds, input, output }: RunUsage): string {
  const time = seconds < 10 ? Math.max(0.1, seconds).toFixed(1) : Math.round(seconds);
  return `${time} s · ${input.toLocaleString("en")} tokens in · ${output.toLocaleString("en")} out`;
}

function ofChat({ tokens, cost }: ChatUsage): string {
  const money = cost ? `, about $${cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(2)}` : "";
  return `this chat: ${tokens.toLocaleString("en")} tokens${money}`;
}
