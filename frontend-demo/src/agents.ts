import { useCallback, useEffect, useState } from "react";
import { SERVER } from "./connection";
import type { Problem } from "./problems";
import { toProblem } from "./problems";

/** An agent as `GET /agents` introduces it. */
export interface AgentInfo {
  name: string;
  description: string;
  examples: string[];
  tools: { name: string; description: string; gated: boolean }[];
}

/** The server's first agent, and what kept us from learning it. */
export function useAgentInfo(headers: Record<string, string>) {
  const [agent, setAgent] = useState<AgentInfo | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const load = useCallback(async () => {
    try {
      const response = await fetch(new URL("agents", SERVER), { headers });
      if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { status: response.status, payload: await response.json() });
      setAgent(((await response.json()) as { agents: AgentInfo[] }).agents[0] ?? null);
      setProblem(null);
    } catch (error) {
      setProblem(toProblem({ error: error as Error, code: "" }));
    }
  }, [headers]);
  useEffect(() => void load(), [load]);
  return { agent, problem, load };
}
