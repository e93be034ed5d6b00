import type { Json, Schema, Unit } from "agui-gate-components/core/types.js";
import { drawArguments } from "agui-gate-components/elements/text.js";
import { useContext, useLayoutEffect, useRef } from "react";
import { Schemas } from "./schemas";

/** What would be done with what, as a list a person can read. */
export function Arguments({ values, unit, tool = "", schema }: { values: Json; unit?: Unit; tool?: string; schema?: Schema }) {
  const known = useContext(Schemas)[tool];
  const node = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => void drawArguments(node.current!, values, { unit, schema: schema ?? known }));
  return <div ref={node} className="gate-arguments" />;
}
