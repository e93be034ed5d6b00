import type { RunUsage } from "./useConversation";

/** How long the last run took and what it cost in tokens. */
export function Usage({ usage }: { usage: RunUsage | null }) {
  if (!usage) return null;
  const seconds = usage.seconds < 10 ? Math.max(0.1, usage.seconds).toFixed(1) : Math.round(usage.seconds);
  return (
    <p className="usage" data-testid="usage">
      {seconds} s · {usage.input.toLocaleString("en")} tokens in · {usage.output.toLocaleString("en")} out
    </p>
  );
}
