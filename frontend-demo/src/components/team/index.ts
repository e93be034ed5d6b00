export { TeamCall } from "./TeamCall";
export { TeamMessage, TeamReasoning, teamActivities } from "./TeamMessage";
export { TeamProvider } from "./useTeam";
