import { pieces } from "agui-gate-components/core/reveal.js";
import "./confirm-card.css";

/** A text with what can't be seen in it marked as what it is. Its direction changes nothing around it. */
export const Shown = ({ text }: { text: string }) => <bdi>{pieces(text).map((piece, at) => (piece.isHidden ? <span key={at} className="gate-mark">{piece.text}</span> : piece.text))}</bdi>;
