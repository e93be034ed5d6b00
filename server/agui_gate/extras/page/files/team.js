/** Who works together, as the server's list of agents has it (`GET /agents`). Pure. */

/** What is known of the agent `name`. */
export const knownOf = (agents, name) => ({ schemas: schemasOf(agents, name), team: teamOf(agents, name) });

/** The tools of `name` and of its team by name, with the JSON Schema of their arguments. An agent's own come first. */
export function schemasOf(agents, name) {
  const tools = teamAround(agents, name).flatMap((agent) => agent.tools ?? []);
  return Object.fromEntries(tools.reverse().map((tool) => [tool.name, tool.parameters]));
}

/**
 * The team of `name`: `delegates` has, by agent, the sub-agent behind each tool that delegates, and `heirs`, by agent,
 * those to whom it hands off.
 */
export function teamOf(agents, name) {
  const team = teamAround(agents, name);
  const byTool = (tools = []) => Object.fromEntries(tools.filter(({ agent }) => agent).map((tool) => [tool.name, tool.agent]));
  return {
    delegates: Object.fromEntries(team.map((agent) => [agent.name, byTool(agent.tools)])),
    heirs: Object.fromEntries(team.map((agent) => [agent.name, agent.handoffs ?? []])),
  };
}

function teamAround(agents, name) {
  const entry = agents.find((agent) => agent.name === name);
  return entry ? [entry, ...(entry.team ?? [])] : [];
}
