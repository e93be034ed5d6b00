/** Who works together, as the server's list of agents has it (`GET /agents`). Pure. */

/** What is known of the agent `name`. */
export const knownOf = (agents, name) => ({ schemas: schemasOf(agents, name), team: teamOf(agents, name) });

/** The tools of `name` and of its team by name, with the JSON Schema of their arguments. An agent's own come first. */
export function schemasOf(agents, name) {
  const tools = teamAround(agents, name).flatMap((agent) => agent.tools ?? []);
  return Object.fromEntries(tools.reverse().map((tool) => [tool.name, tool.parameters]));
}

/** The JSON Schema of one agent's tool, be the agent served or a member of a team. */
export const schemaOf = (agents, name, tool) => everyone(agents).find((agent) => agent.name === name)?.tools?.find((one) => one.name === tool)?.parameters;

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

/** Whether chats are had with `name`, and not only with a team that it is in. */
export const isServed = (agents, name) => agents.some((agent) => agent.name === name);

function teamAround(agents, name) {
  const entry = agents.find((agent) => agent.name === name);
  return entry ? [entry, ...(entry.team ?? [])] : [];
}

const everyone = (agents) => [...agents, ...agents.flatMap((agent) => agent.team ?? [])];
