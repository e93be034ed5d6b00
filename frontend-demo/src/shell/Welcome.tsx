import type { AgentInfo } from "../agents";
import { Icon } from "../components/confirm-card/Icon";
import { humanize } from "agui-gate-components/core/values.js";

interface Props {
  agent: AgentInfo;
  onChoose: (text: string) => void;
}

/** The empty chat: who answers, what it can do and what it asks about first, and examples to click. */
export function Welcome({ agent, onChoose }: Props) {
  return (
    <section className="welcome" aria-label="Welcome">
      <div className="welcome-mark"><Icon name="gate" /></div>
      <h2>What can I help with?</h2>
      {agent.description && <p className="welcome-text">{agent.description}</p>}
      <ul className="capabilities" aria-label="Tools">
        {agent.tools.map((tool) => (
          <li key={tool.name} className="capability" data-gated={tool.gated} title={tool.description}>
            {tool.gated && <Icon name="gate" />}
            {humanize(tool.name)}
            {tool.gated && <span className="gate-hidden"> (asks first)</span>}
          </li>
        ))}
      </ul>
      <div className="examples">
        {agent.examples.map((example) => (
          <button key={example} type="button" className="example" onClick={() => onChoose(example)}>
            {example}
            <Icon name="send" />
          </button>
        ))}
      </div>
    </section>
  );
}
