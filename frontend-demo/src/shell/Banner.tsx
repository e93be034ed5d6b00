import { useState } from "react";
import { Icon } from "../components/confirm-card/Icon";
import { LOST, type Problem } from "../problems";

interface Props {
  problem: Problem;
  onRetry: () => void;
  onTakeBack: () => void;
  onToken: (token: string) => void;
  onClose?: () => void;
}

/** What went wrong, what to do about it, and the button that does it. */
export function Banner({ problem, onClose, ...actions }: Props) {
  return (
    <div className="banner" role="alert" data-testid="banner" data-code={problem.code}>
      <Icon name="warning" />
      <div className="banner-text">
        <p className="banner-what">{problem.what}</p>
        <p>{problem.advice}</p>
      </div>
      <Action code={problem.code} {...actions} />
      {onClose && <button className="icon-button" type="button" aria-label="Dismiss" onClick={onClose}><Icon name="cross" /></button>}
    </div>
  );
}

/** The button that helps: trying again doesn't where something else has to be done first. */
function Action({ code, onRetry, onTakeBack, onToken }: { code: string } & Pick<Props, "onRetry" | "onTakeBack" | "onToken">) {
  if (code === "approval_pending") return null;
  if (code === "unauthorized") return <TokenForm onToken={onToken} />;
  if (code === LOST) return <button className="gate-button" type="button" onClick={onRetry}>Go on</button>;
  if (code === "too_large") return <button className="gate-button" type="button" onClick={onTakeBack}>Take it back</button>;
  return <button className="gate-button" type="button" onClick={onRetry}><Icon name="retry" />Try again</button>;
}

function TokenForm({ onToken }: { onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  return (
    <form
      className="banner-form"
      onSubmit={(event) => {
        event.preventDefault();
        onToken(token.trim());
      }}
    >
      <input type="password" name="token" aria-label="Token" placeholder="Token" autoComplete="off" required value={token} onChange={(event) => setToken(event.target.value)} />
      <button className="gate-button primary" type="submit">Continue</button>
    </form>
  );
}
