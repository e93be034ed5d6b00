export { ToolChip, ToolChips } from "./ToolChips";
