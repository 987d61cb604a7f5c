import { Suspense, lazy } from "react";
import { showOverlay, useOverlay } from "#ui/store/overlays.ts";

const NewTaskDialog = lazy(() => import("#ui/features/newTask/NewTaskDialog.tsx"));
const ImportIssuesDialog = lazy(() => import("#ui/features/issues/ImportIssuesDialog.tsx"));
const ConnectDialog = lazy(() => import("./ConnectDialog.tsx"));
const AddProjectDialog = lazy(() => import("#ui/features/projects/AddProjectDialog.tsx"));

/** The dialogs that can be opened from anywhere. Each is loaded when it is first asked for. */
export function Dialogs({ project }: { project: string | null }) {
  const open = useOverlay();
  const close = () => showOverlay(null);
  return (
    <Suspense fallback={null}>
      {open === "newTask" && project !== null && (
        <NewTaskDialog key={project} projectId={project} onClose={close} />
      )}
      {open === "importIssues" && project !== null && (
        <ImportIssuesDialog key={project} projectId={project} onClose={close} />
      )}
      {open === "connect" && <ConnectDialog onClose={close} />}
      {open === "addProject" && <AddProjectDialog onClose={close} />}
    </Suspense>
  );
}
