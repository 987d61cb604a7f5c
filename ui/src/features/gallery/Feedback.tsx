import { Inbox } from "lucide-react";
import { ApiError } from "#ui/api/error.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Meter } from "#ui/components/Meter.tsx";
import { Progress } from "#ui/components/Progress.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast, type ToastTone } from "#ui/components/Toast.tsx";
import styles from "./Gallery.module.css";
import { Samples, Section, Specimen } from "./Specimen.tsx";

const tail =
  "\u001b[1mrunning 42 tests\u001b[0m\ntest parse::empty ... \u001b[32mok\u001b[0m\n" +
  "test parse::nested ... \u001b[31mFAILED\u001b[0m\n\u001b[2mfinished in 0.31s\u001b[0m";
const refusal = new ApiError({
  code: "guard_rejected",
  message: "failed to move #12 to Review: the work tree holds conflict markers in src/main.rs",
  hints: ["Open the conflict view and resolve the file", "Or ask the agent to resolve it"],
});
const toasts: readonly ToastTone[] = ["info", "success", "warning", "danger"];

export function Feedback() {
  return (
    <Section title="Feedback">
      <Specimen name="Banner">
        <Banner tone="info" title="The agent is waiting for its turn">
          Two of two Codex runs are at work; this one is next.
        </Banner>
        <Banner
          tone="warning"
          title="Your approval is needed"
          actions={
            <>
              <Button size="sm" variant="primary" keys="a">
                Approve
              </Button>
              <Button size="sm">Request changes…</Button>
            </>
          }
        >
          The reviewer passed attempt 2 with a score of 8.
        </Banner>
        <Banner
          tone="danger"
          title="Checks failed three times"
          evidence={
            <CodeBlock code={tail} caption="cargo test · exit code 101">
              <AnsiText text={tail} />
            </CodeBlock>
          }
          actions={
            <>
              <Button size="sm" variant="primary">
                Try again
              </Button>
              <Button size="sm">Open workspace</Button>
              <Button size="sm" variant="ghost">
                Cancel task…
              </Button>
            </>
          }
        >
          The same two tests fail as in the attempt before.
        </Banner>
      </Specimen>
      <Specimen name="Toast">
        <Samples>
          {toasts.map((tone) => (
            <Button
              key={tone}
              size="sm"
              onClick={() =>
                showToast({
                  tone,
                  title: `#12 moved to Review`,
                  detail: "The reviewer starts in 5 seconds.",
                  action: { label: "Undo", onSelect: () => {} },
                })
              }
            >
              {tone}
            </Button>
          ))}
        </Samples>
      </Specimen>
      <Specimen name="Progress">
        <Progress label="Checks" done={3} total={5} detail="cargo nextest run --workspace" />
        <Progress label="Cloning" done={1284} total={null} />
      </Specimen>
      <Specimen name="Meter">
        <Samples>
          <Meter label="Disk" percent={41} text="41%" />
          <Meter label="Disk" percent={93} text="93%" isHigh />
        </Samples>
      </Specimen>
      <Specimen name="Skeleton">
        <Samples>
          <Skeleton width={24} height={24} round />
          <Skeleton width={160} />
        </Samples>
        <SkeletonText lines={3} />
      </Specimen>
      <Specimen name="Empty">
        <div className={styles.frame}>
          <EmptyState
            icon={<Inbox />}
            title="Nothing waits for you"
            actions={<Button variant="primary">New task</Button>}
          >
            Questions, approvals and blocked tasks gather here, oldest first.
          </EmptyState>
        </div>
      </Specimen>
      <Specimen name="Error">
        <div className={styles.frame}>
          <ErrorState title="The task did not move" error={refusal} onRetry={() => {}} />
        </div>
      </Specimen>
    </Section>
  );
}
