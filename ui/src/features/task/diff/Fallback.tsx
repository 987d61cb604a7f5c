import { Component, type ReactNode } from "react";

interface FallbackProps {
  /** What stands in when the children fail to draw. */
  readonly instead: ReactNode;
  readonly children: ReactNode;
}

/** Colours are a comfort: when the viewer fails, plain rows still tell everything. */
export class Fallback extends Component<FallbackProps, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
