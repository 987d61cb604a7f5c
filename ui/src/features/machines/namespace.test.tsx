import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./MachinesScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, refuse, refuseInput } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleMachine } from "#ui/test/sampleMachines.ts";

const pods = sampleMachine({
  id: "m7",
  name: "pods",
  kind: "kubernetes",
  ssh: null,
  kubernetes: {
    context: "prod",
    namespace: "agents",
    image: "registry.example/agent:1",
    resources: { cpu: "500m", memory: "2Gi", "nvidia.com/gpu": "1" },
    tolerations: ["gpu:NoSchedule"],
  },
  root: "/forge",
});

const open = () => {
  const host = createSampleHost(null, 20);
  host.answer("machine_list", pageOf([pods]));
  return { host, ...openApp(host, "#/machines") };
};

/** The dialog of a new namespace, with all that it requires. */
async function adding() {
  await screen.findByRole("list", { name: "Machines" });
  await userEvent.keyboard("n");
  const dialog = await screen.findByRole("dialog", { name: "Add machine" });
  const inside = within(dialog);
  await userEvent.click(inside.getByRole("radio", { name: "Kubernetes" }));
  for (const [name, text] of [
    ["Name", "pods-2"],
    ["Namespace", "agents"],
    ["Image", "registry.example/agent:1"],
  ] as const) {
    await userEvent.click(inside.getByRole("textbox", { name }));
    await userEvent.paste(text);
  }
  return { dialog, inside };
}

const rest = {
  labels: [],
  caps: { runs: null },
  quota: { runs_per_day: null, micro_usd_per_day: null },
};

describe("a namespace of Kubernetes", () => {
  it("tells in the list where its Jobs are created and what they ask for", async () => {
    open();
    const row = (await screen.findByRole("heading", { level: 2, name: "pods" })).closest("li")!;
    expect(row.textContent).toContain(
      "podsKubernetes, namespace agents of prodregistry.example/agent:1\u00a0· cpu 500m\u00a0· memory 2Gi\u00a0· nvidia.com/gpu 1\u00a0· tolerates gpu:NoSchedule",
    );
  });

  it("is added with what it requires, and the rest left to kubectl and the cluster", async () => {
    const { host, container } = open();
    const { dialog, inside } = await adding();
    expect(dialog.textContent).toContain("Each task gets one Job");
    expect(await violationsIn(container)).toEqual([]);
    await userEvent.click(inside.getByRole("button", { name: "Add machine" }));
    await waitFor(() =>
      expect(inputsOf(host, "machine_create")).toEqual([
        {
          name: "pods-2",
          kubernetes: {
            context: null,
            kubeconfig: null,
            namespace: "agents",
            image: "registry.example/agent:1",
            service_account: null,
            resources: {},
            tolerations: [],
          },
          root: "/forge",
          ...rest,
        },
      ]),
    );
  });

  it("cannot be added without a namespace", async () => {
    open();
    const { inside } = await adding();
    await userEvent.clear(inside.getByRole("textbox", { name: "Namespace" }));
    const add = inside.getByRole("button", { name: "Add machine" });
    expect(add.hasAttribute("disabled")).toBe(true);
  });

  it("is changed, and what is not touched stays", async () => {
    const { host } = open();
    await userEvent.click(await screen.findByRole("button", { name: "Edit pods" }));
    const inside = within(await screen.findByRole("dialog", { name: "Edit pods" }));
    const memory = inside.getByRole("textbox", { name: "Memory" });
    await userEvent.clear(memory);
    await userEvent.paste("4Gi");
    await userEvent.click(inside.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(inputsOf(host, "machine_update")).toMatchObject([
        {
          machine_id: "m7",
          kubernetes: {
            context: "prod",
            resources: { cpu: "500m", memory: "4Gi", "nvidia.com/gpu": "1" },
            tolerations: ["gpu:NoSchedule"],
          },
          root: "/forge",
        },
      ]),
    );
  });

  it.each([
    ["kubernetes.namespace", "Namespace", "must be a namespace"],
    ["kubernetes.image", "Image", "must be the name of an image"],
    ["kubernetes.context", "Context", "must be the name of a context"],
    ["kubernetes.kubeconfig", "kubectl configuration", "must be the absolute path"],
    ["kubernetes.service_account", "Service account", "must be a service account"],
    ["kubernetes.resources.cpu", "Processors", "must be a quantity"],
    ["kubernetes.resources.memory", "Memory", "must be at least `64Mi`"],
    ["kubernetes.resources.nvidia.com/gpu", "Other resources", "must be a quantity"],
    ["kubernetes.tolerations[0]", "Tolerations", "must be `key:Effect`"],
    ["root", "Folder in the pod", "must be an absolute folder"],
  ])("says what is wrong with %s at the field %s", async (path, field, said) => {
    const { host } = open();
    host.answer("machine_create", () => refuseInput("failed to add the machine", path, said));
    const { dialog, inside } = await adding();
    await userEvent.click(inside.getByRole("button", { name: "Add machine" }));
    await waitFor(() => expect(dialog.textContent).toContain(said));
    const marked = [...dialog.querySelectorAll("[aria-invalid=true]")];
    expect(marked).toEqual([inside.getByRole("textbox", { name: field })]);
    expect(inside.queryByText("Could not save the machine")).toBeNull();
  });
});

it("leaves jobs on a cluster only when that is said", async () => {
  const { host } = open();
  await userEvent.click(await screen.findByRole("button", { name: "Remove pods" }));
  const dialog = await screen.findByRole("alertdialog", { name: "Remove pods?" });
  expect(within(dialog).queryByRole("checkbox")).toBeNull();
  host.answer("machine_delete", () => refuse("in_use", "jobs of tasks are on pods (forge-a)"));
  await userEvent.click(within(dialog).getByRole("button", { name: "Remove machine" }));
  await within(dialog).findByText(/forge-a/);
  await userEvent.click(
    within(dialog).getByRole("checkbox", { name: /^Leave its jobs on the cluster/ }),
  );
  host.answer("machine_delete", { done: true, jobs_left: ["forge-a"] });
  await userEvent.click(within(dialog).getByRole("button", { name: "Remove machine" }));
  await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
  expect(inputsOf(host, "machine_delete").at(-1)).toEqual({
    machine_id: "m7",
    abandon_jobs: true,
  });
});
