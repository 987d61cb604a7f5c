/** Parts of a project's settings that are features of their own, each a chunk. */
import { lazy } from "react";

export const WorkflowEditor = lazy(() => import("#ui/features/workflow/WorkflowEditor.tsx"));
export const KnowledgeSection = lazy(() => import("#ui/features/knowledge/KnowledgeSection.tsx"));
export const HooksEditor = lazy(() => import("#ui/features/hooks/HooksEditor.tsx"));
