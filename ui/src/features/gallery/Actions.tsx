import { Archive, Ellipsis, ListFilter, Pause, Play, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { ContextMenu, Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { Popover } from "#ui/components/Popover.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import styles from "./Gallery.module.css";
import { Samples, Section, Specimen } from "./Specimen.tsx";

const nothing = () => {};
const variants = ["primary", "secondary", "ghost", "danger"] as const;

function useEntries(): MenuEntry[] {
  const [shown, setShown] = useState(true);
  return [
    { kind: "label", id: "label", label: "Task #12" },
    { id: "start", label: "Start", icon: <Play />, keys: "s", onSelect: nothing },
    {
      id: "pause",
      label: "Pause",
      icon: <Pause />,
      disabled: true,
      note: "No agent is at work",
      onSelect: nothing,
    },
    { kind: "check", id: "check", label: "Show cost", checked: shown, onChange: setShown },
    {
      kind: "submenu",
      id: "more",
      label: "Move to",
      entries: [
        { id: "todo", label: "Todo", onSelect: nothing },
        { id: "done", label: "Done", onSelect: nothing },
      ],
    },
    { kind: "separator", id: "separator" },
    { id: "archive", label: "Archive", icon: <Archive />, onSelect: nothing },
    { id: "delete", label: "Delete…", icon: <Trash2 />, danger: true, onSelect: nothing },
  ];
}

export function Actions() {
  const [dialog, setDialog] = useState(false);
  const [alert, setAlert] = useState(false);
  const entries = useEntries();
  return (
    <Section title="Actions">
      <Specimen name="Button">
        <Samples>
          {variants.map((variant) => (
            <Button key={variant} variant={variant}>
              {variant}
            </Button>
          ))}
        </Samples>
        <Samples>
          {variants.map((variant) => (
            <Button key={variant} variant={variant} disabled>
              {variant}
            </Button>
          ))}
        </Samples>
        <Samples>
          <Button variant="primary" icon={<Plus />} keys="c">
            New task
          </Button>
          <Button icon={<ListFilter />}>Filter</Button>
          <Button busy>Saving…</Button>
          <Button size="sm">Small</Button>
          <Button size="lg">Large</Button>
        </Samples>
      </Specimen>
      <Specimen name="IconButton">
        <Samples>
          <IconButton label="Add" icon={<Plus />} keys="c" />
          <IconButton label="Filter" icon={<ListFilter />} pressed />
          <IconButton label="Delete" icon={<Trash2 />} disabled />
          <IconButton label="More" icon={<Ellipsis />} size="sm" />
        </Samples>
      </Specimen>
      <Specimen name="Overlays">
        <Samples>
          <Menu entries={entries} trigger={<Button>Menu</Button>} />
          <Popover trigger={<Button>Popover</Button>} title="Filter by text">
            <TextField label="Text" hideLabel placeholder="Title or description" />
          </Popover>
          <Tooltip text="What the control does" keys="mod+enter">
            <Button>Tooltip</Button>
          </Tooltip>
          <Button onClick={() => setDialog(true)}>Dialog</Button>
          <Button onClick={() => setAlert(true)}>Question</Button>
        </Samples>
        <ContextMenu entries={entries}>
          <div className={styles.target}>Secondary click here</div>
        </ContextMenu>
      </Specimen>
      <Dialog
        open={dialog}
        onOpenChange={setDialog}
        title="New task"
        description="An agent starts as soon as it is free."
        actions={
          <>
            <Button onClick={() => setDialog(false)}>Cancel</Button>
            <Button variant="primary" keys="mod+enter" onClick={() => setDialog(false)}>
              Create task
            </Button>
          </>
        }
      >
        <TextField label="Title" placeholder="What should be done" />
      </Dialog>
      <AlertDialog
        open={alert}
        onOpenChange={setAlert}
        title="Delete project “website”?"
        description="Its 14 tasks and 3 workspaces are removed after a backup. The repository stays."
        confirmLabel="Delete project"
        danger
        onConfirm={() => setAlert(false)}
      />
    </Section>
  );
}
