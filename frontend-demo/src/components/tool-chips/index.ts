export { ToolChip, ToolChips, type Call } from "./ToolChips";
