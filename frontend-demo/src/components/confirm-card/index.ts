export { ApprovalCard, type Ask, type Decision } from "./ApprovalCard";
export { ConfirmCard } from "./ConfirmCard";
export { DecisionLine } from "./DecisionLine";
export { together } from "./together";
