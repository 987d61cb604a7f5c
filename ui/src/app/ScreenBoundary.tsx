import { Component, type ReactNode } from "react";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { t } from "#ui/i18n/index.ts";

interface Props {
  /** A new value gives the screen another chance. */
  readonly resetKey: string;
  readonly children: ReactNode;
}

interface State {
  readonly error: unknown;
  readonly resetKey: string;
}

/** Keeps the shell standing when a screen throws. A class, since React has no other way. */
export class ScreenBoundary extends Component<Props, State> {
  override state: State = { error: null, resetKey: this.props.resetKey };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps({ resetKey }: Props, state: State): State | null {
    return resetKey === state.resetKey ? null : { error: null, resetKey };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <ErrorState
        title={t("error.screenFailed")}
        error={this.state.error}
        onRetry={() => this.setState({ error: null })}
      />
    );
  }
}
