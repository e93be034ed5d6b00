import { useCallback, useEffect, useRef, useState } from "react";
import type { Schema } from "agui-gate-components/core/types.js";
import { learnTime } from "agui-gate-components/core/servertime.js";
import { SERVER } from "./connection";
import type { Problem } from "./problems";
import { toProblem } from "./problems";

interface ToolInfo {
  name: string;
  description: string;
  gated: boolean;
  parameters?: Schema;
  /** The agent to which it delegates. */
  agent?: string;
}

/** An agent as `GET /agents` introduces it. */
export interface AgentInfo {
  name: string;
  description: string;
  examples: string[];
  tools: ToolInfo[];
  /** All that it can pass work to. */
  team?: { name: string; tools: ToolInfo[] }[];
}

/** The server's agents, and what kept us from learning them. */
export function useAgents(headers: Record<string, string>) {
  const [agents, setAgents] = useState<AgentInfo[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const asked = useRef(0);
  const load = useCallback(async () => {
    const turn = (asked.current += 1);
    const isLatest = () => turn === asked.current; // what an older token was told counts no more
    try {
      const response = await fetch(new URL("agents", SERVER), { headers });
      learnTime(response.headers.get("date"));
      const said: unknown = await response.json();
      if (!isLatest()) return;
      if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { status: response.status, payload: said });
      setAgents((said as { agents: AgentInfo[] }).agents);
      setProblem(null);
    } catch (error) {
      if (isLatest()) setProblem(toProblem({ error: error as Error, code: "" }));
    }
  }, [headers]);
  useEffect(() => void load(), [load]);
  return { agents, problem, load };
}

/** The agent of that name, else the first one. */
export const pick = (agents: readonly AgentInfo[], name: string): AgentInfo | undefined => agents.find((agent) => agent.name === name) ?? agents[0];

/** Agents by the tools that delegate to them, in the whole team. */
export function delegatesOf({ tools, team = [] }: AgentInfo): Record<string, string> {
  const all = [...tools, ...team.flatMap((member) => member.tools)];
  return Object.fromEntries(all.flatMap(({ name, agent }) => (agent ? [[name, agent]] : [])));
}

/** The schemas of all tools' arguments, by the tools' names. */
export function schemasOf(agents: readonly AgentInfo[]): Record<string, Schema> {
  const tools = agents.flatMap(({ tools, team = [] }) => [...team.flatMap((member) => member.tools), ...tools]);
  return Object.fromEntries(tools.flatMap(({ name, parameters }) => (parameters ? [[name, parameters]] : [])));
}
