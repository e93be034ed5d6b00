import { pieces } from "./invisible";
import "./confirm-card.css";
import "./told.css";

/** A text with what can't be seen in it drawn as what it is. Its direction changes nothing around it. */
export function Shown({ text }: { text: string }) {
  return (
    <bdi>
      {pieces(text).map((piece, at) =>
        typeof piece === "string" ? piece : <span key={at} className="gate-mark" title={piece.name} role="img" aria-label={`${piece.code} ${piece.name}`}>{piece.code}</span>,
      )}
    </bdi>
  );
}
