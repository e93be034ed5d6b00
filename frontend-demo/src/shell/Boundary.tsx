import { Component, type ReactNode } from "react";

interface Props {
  onError: (reported: { error: Error; code: string }) => void;
  children: ReactNode;
}

/** A render that fails (an agent the runtime doesn't know, say) becomes a problem with a way out, not a blank page. */
export class Boundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidCatch(error: Error) {
    this.props.onError({ error, code: "render" });
  }

  override render() {
    return this.state.failed ? null : this.props.children;
  }
}
