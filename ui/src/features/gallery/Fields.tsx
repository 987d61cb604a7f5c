import { LayoutGrid, List, Search } from "lucide-react";
import { useState } from "react";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { Combobox } from "#ui/components/Combobox.tsx";
import { KeyHint } from "#ui/components/Kbd.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { Samples, Section, Specimen } from "./Specimen.tsx";

const agents = ["Claude Code", "Codex", "Local shell"].map((label) => ({
  value: label,
  label,
  icon: <Avatar name={label} size={16} />,
}));
const priorities = [
  { value: "high", label: "High", note: "Before everything else" },
  { value: "normal", label: "Normal" },
  { value: "low", label: "Low", disabled: true },
];

export function Fields() {
  const [agent, setAgent] = useState<string | null>("Codex");
  const [priority, setPriority] = useState<string | null>(null);
  const [view, setView] = useState("board");
  const [icon, setIcon] = useState("grid");
  const [on, setOn] = useState(true);
  const [seconds, setSeconds] = useState<number | null>(30);
  const [checked, setChecked] = useState(true);
  return (
    <Section title="Fields">
      <Specimen name="TextField">
        <TextField label="Title" placeholder="What should be done" />
        <TextField
          label="Search"
          hideLabel
          placeholder="Search tasks"
          icon={<Search />}
          suffix={<KeyHint keys="/" />}
        />
        <TextField
          label="Branch"
          mono
          defaultValue="main branch"
          error="A branch name has no spaces"
        />
        <TextField label="Path" mono disabled defaultValue="/srv/website" hint="Set at creation" />
        <TextArea label="Description" placeholder="Markdown" />
      </Specimen>
      <Specimen name="NumberField">
        <NumberField
          label="Ended after"
          suffix="seconds"
          value={seconds}
          error={seconds === 0 ? "Must be at least 1" : undefined}
          onChange={setSeconds}
        />
      </Specimen>
      <Specimen name="Select">
        <Select label="Agent" value={agent} options={agents} onChange={setAgent} />
        <Select
          label="Priority"
          value={priority}
          options={priorities}
          onChange={setPriority}
          placeholder="None"
          error="A task needs a priority here"
        />
        <Combobox label="Type to find" value={agent} options={agents} onChange={setAgent} />
        <Select label="Disabled" value="Codex" options={agents} onChange={setAgent} disabled />
      </Specimen>
      <Specimen name="Choices">
        <Samples>
          <SegmentedControl
            label="View"
            value={view}
            segments={[
              { value: "board", label: "Board" },
              { value: "list", label: "List" },
              { value: "timeline", label: "Timeline" },
            ]}
            onChange={setView}
          />
          <SegmentedControl
            label="Layout"
            value={icon}
            segments={[
              { value: "grid", label: "Grid", icon: <LayoutGrid /> },
              { value: "rows", label: "Rows", icon: <List /> },
            ]}
            onChange={setIcon}
          />
        </Samples>
        <Switch
          label="Start agents on their own"
          hint="As soon as a task is in Todo"
          checked={on}
          onChange={setOn}
        />
        <Switch label="Off" checked={false} onChange={setOn} disabled />
        <Checkbox
          label="Keep the branch"
          hint="After the merge"
          checked={checked}
          onChange={setChecked}
        />
        <Checkbox label="Some of them" checked={false} mixed onChange={setChecked} />
        <Checkbox label="Not now" checked={false} onChange={setChecked} disabled />
      </Specimen>
    </Section>
  );
}
