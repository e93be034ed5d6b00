import type { ReactActivityMessageRenderer } from "@copilotkit/react-core/v2";
import { z } from "zod";
import { Arguments } from "../confirm-card/Arguments";
import { humanize } from "agui-gate-components/core/values.js";
import type { Json } from "agui-gate-components/core/types.js";
import "./activity.css";

/** What a tool shows while it runs (`ctx.activity`). For `renderActivityMessages` of `CopilotKitProvider`. */
export const activities: ReactActivityMessageRenderer<Json>[] = [
  { activityType: "*", content: z.record(z.string(), z.unknown()), render: ({ activityType, content }) => <Activity kind={activityType} content={content} /> },
];

/** A bar where there are `done` and `total`; whatever else there is, as a list. */
export function Activity({ kind, content: { title, done, total, ...others } }: { kind: string; content: Json }) {
  const name = typeof title === "string" ? title : humanize(kind);
  const counted = typeof done === "number" && typeof total === "number";
  return (
    <section className="activity" aria-label={name} data-testid="activity" data-kind={kind}>
      <p>
        <span>{name}</span>
        {counted && <span className="activity-count">{done} of {total}</span>}
      </p>
      {counted && <progress aria-label={name} value={done} max={total} />}
      {Object.keys(others).length > 0 && <Arguments values={others} />}
    </section>
  );
}
