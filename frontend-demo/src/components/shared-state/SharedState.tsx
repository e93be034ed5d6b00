import { useAgent, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { useEffect, useId, useState } from "react";
import { Arguments } from "../confirm-card/Arguments";
import { Icon } from "../confirm-card/Icon";
import { isObject } from "agui-gate-components/core/values.js";
import type { Json } from "agui-gate-components/core/types.js";
import "./shared-state.css";

type Agent = ReturnType<typeof useAgent>["agent"];

/** The state that this page and the agent's tools share, as it is now, and a way to change it. Nothing as long as there is none. Inside `CopilotKitProvider`. */
export function SharedState() {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnStateChanged, UseAgentUpdate.OnRunStatusChanged] });
  const [isEditing, setEditing] = useState(false);
  const edit = useEdit(agent);
  const state: Json = isObject(agent.state) ? agent.state : {};
  if (Object.keys(state).length === 0 && !isEditing && !edit.isUnsent) return null;
  const save = (changed: Json) => {
    setEditing(false);
    edit.make(changed);
  };
  return (
    <details className="shared-state" data-testid="shared-state" data-unsent={edit.isUnsent} open={matchMedia(WIDE).matches}>
      <summary>Shared state<Icon name="chevron" /></summary>
      <div className="shared-state-body">
        {isEditing ? <Form state={state} isRunning={agent.isRunning} onSave={save} onClose={() => setEditing(false)} /> : <Arguments values={state} />}
        {edit.isUnsent && (
          <p className="gate-quiet" role="status">
            It goes out with your next message. <button className="gate-button" type="button" onClick={edit.takeBack}>Take back</button>
          </p>
        )}
        {!isEditing && <button className="gate-button" type="button" disabled={agent.isRunning} onClick={() => setEditing(true)}><Icon name="edit" />Change</button>}
      </div>
    </details>
  );
}

const WIDE = "(min-width: 1160px)";

/** A change that was made here is the page's alone until a run begins with it. A server that refuses it begins none. */
function useEdit(agent: Agent) {
  const [before, setBefore] = useState<{ state: unknown } | null>(null);
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({ onRunStartedEvent: () => setBefore(null) });
    return unsubscribe;
  }, [agent]);
  const make = (changed: Json) => {
    if (JSON.stringify(changed) === JSON.stringify(agent.state)) return;
    setBefore(before ?? { state: agent.state });
    agent.setState(changed);
  };
  const takeBack = () => {
    agent.setState(before?.state ?? {});
    setBefore(null);
  };
  return { isUnsent: before !== null, make, takeBack };
}

interface FormProps {
  state: Json;
  isRunning: boolean;
  onSave: (state: Json) => void;
  onClose: () => void;
}

function Form({ state, isRunning, onSave, onClose }: FormProps) {
  const [text, setText] = useState(() => JSON.stringify(state, null, 2));
  const [problem, setProblem] = useState("");
  const id = useId();
  const save = () => {
    try {
      const changed: unknown = JSON.parse(text);
      if (isObject(changed)) onSave(changed);
      else setProblem("It must be an object: {…}.");
    } catch (error) {
      setProblem(`This is not valid JSON: ${(error as Error).message}`);
    }
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); save(); }}>
      <div className="gate-field">
        <textarea data-kind="json" aria-label="Shared state, as JSON" autoFocus rows={10} spellCheck={false} value={text} aria-invalid={problem !== ""} aria-describedby={problem ? id : undefined} onChange={(event) => setText(event.target.value)} />
      </div>
      {problem && <p id={id} className="shared-state-problem" role="alert">{problem}</p>}
      <div className="gate-actions">
        <button className="gate-button primary" type="submit" disabled={isRunning}>Keep</button>
        <button className="gate-button" type="button" onClick={onClose}>Cancel</button>
      </div>
    </form>
  );
}
