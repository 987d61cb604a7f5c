import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./AgentsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, refuseInput } from "#ui/test/answers.ts";
import { sampleAgent } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleKnown } from "#ui/test/sampleRuns.ts";
import { sampleProfiles } from "#ui/test/sampleProfiles.ts";

const open = (sample: string | null = "agents") => {
  const host = createSampleHost(sample, 20);
  return { host, ...openApp(host, "#/agents") };
};
const machine = () => screen.findByRole("list", { name: "On this machine" });

describe("programs of this machine", () => {
  it("stand below one's own agents: those not used yet, then the missing with a way to get them", async () => {
    const user = userEvent.setup();
    const { container } = open();
    await machine();
    expect(screen.getAllByRole("heading", { level: 2 }).map((head) => head.textContent)).toEqual([
      "Your agents",
      "On this machine",
      "Not installed",
    ]);
    const rows = within(await machine()).getAllByRole("listitem");
    const [claude, opencode, ...others] = rows.map(({ textContent }) => textContent);
    expect(claude).toMatch(/Claude Code2\.0\.41 \/home\/me\/.local\/bin\/claudesign-in unknown/);
    expect(opencode).toContain("not signed in");
    expect(opencode).toContain("Sign in with opencode auth login.");
    // Codex is one of the agents already.
    expect(others).toEqual([]);
    const missing = screen.getByRole("list", { name: "Not installed" });
    expect(missing.textContent).toContain("npm install -g @google/gemini-cli");
    const copy = "Copy npm install -g @google/gemini-cli";
    await user.click(within(missing).getByRole("button", { name: copy }));
    expect(await navigator.clipboard.readText()).toBe("npm install -g @google/gemini-cli");
    expect(screen.queryByRole("button", { name: "Add Gemini CLI" })).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
  });

  it("become a profile by one press, under a free name, and are looked for again", async () => {
    const host = createSampleHost("agents", 20);
    // A script of one's own has the name already.
    host.answer("agent_known", pageOf([sampleKnown()]));
    openApp(host, "#/agents");
    const added = sampleAgent({ id: "a5", name: "Codex 2", adapter: "codex", config: {} });
    const listed = () => host.answer("agent_list", pageOf([...sampleProfiles("agents"), added]));
    host.after("agent_create", added, listed, "agents");
    const list = await machine();
    await userEvent.click(within(list).getByRole("button", { name: "Add Codex" }));
    await screen.findByRole("heading", { name: /^Codex 2/ });
    expect(inputsOf(host, "agent_create")).toEqual([
      { name: "Codex 2", adapter: "codex", config: {}, max_concurrent: 1 },
    ]);
    const looks = inputsOf(host, "agent_known").length;
    const region = screen.getByRole("region", { name: "On this machine" });
    await userEvent.click(within(region).getByRole("button", { name: "Detect again" }));
    await waitFor(() => expect(inputsOf(host, "agent_known").length).toBeGreaterThan(looks));
  });
});

describe("a trial", () => {
  it("is said to cost before it is made, and told with time and cost", async () => {
    const { host } = open();
    await userEvent.click(await screen.findByRole("button", { name: "Try Codex" }));
    const dialog = await screen.findByRole("dialog", { name: "Try Codex" });
    expect(dialog.textContent).toContain("This may cost a little");
    expect(inputsOf(host, "agent_try")).toEqual([]);
    await userEvent.click(within(dialog).getByRole("button", { name: "Try agent" }));
    const status = await within(dialog).findByText("The agent answered");
    expect(status.closest("[role=status]")?.textContent).toBe(
      "The agent answered2s · $0.0019Ready.",
    );
  });

  it("says why it failed and what to do", async () => {
    open();
    await userEvent.click(await screen.findByRole("button", { name: "Try Night shift" }));
    await userEvent.click(await screen.findByRole("button", { name: "Try agent" }));
    const dialog = screen.getByRole("dialog");
    await within(dialog).findByText("night-shift is not on the PATH");
    expect(dialog.textContent).toContain("give its whole path in the profile");
  });
});

describe("the dialog", () => {
  it("makes a profile of any adapter; models are asked for when somebody looks", async () => {
    const { host, container } = open();
    await machine();
    await userEvent.keyboard("n");
    const dialog = await screen.findByRole("dialog", { name: "Add agent" });
    const box = (name: string) => within(dialog).getByRole("textbox", { name });
    // Codex is used already: it opens on a program that is installed and is not.
    const chosen = within(dialog).getByRole("radio", { name: "Claude Code" });
    expect(chosen.getAttribute("aria-checked")).toBe("true");
    await userEvent.click(within(dialog).getByRole("radio", { name: "Codex" }));
    await userEvent.type(box("Name"), "Careful");
    expect(inputsOf(host, "agent_models")).toEqual([]);
    await userEvent.click(within(dialog).getByRole("combobox", { name: "Model" }));
    await userEvent.click(await screen.findByRole("option", { name: /^gpt-5.1-codex-mini/ }));
    expect(inputsOf(host, "agent_models")).toEqual([{ adapter: "codex", config: {} }]);
    await userEvent.click(within(dialog).getByRole("combobox", { name: "Permissions" }));
    await userEvent.click(await screen.findByRole("option", { name: /^Ask first/ }));
    await userEvent.type(box("Cost per run"), "1.5");
    await userEvent.type(box("Model calls per run"), "40");
    await userEvent.click(within(dialog).getByRole("button", { name: "Find program" }));
    await within(dialog).findByText("/usr/local/bin/codex");
    expect(await violationsIn(container)).toEqual([]);
    await userEvent.click(within(dialog).getByRole("button", { name: "Add agent" }));
    await waitFor(() =>
      expect(inputsOf(host, "agent_create")).toEqual([
        {
          name: "Careful",
          adapter: "codex",
          config: { permissions: "ask", cost_micro_usd: 1_500_000, turns: 40 },
          model: "gpt-5.1-codex-mini",
          max_concurrent: 1,
        },
      ]),
    );
  });

  it("says a refusal at its field, and why models are not known", async () => {
    open();
    await machine();
    await userEvent.keyboard("n");
    const dialog = await screen.findByRole("dialog");
    await userEvent.click(within(dialog).getByRole("radio", { name: "Command" }));
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "x");
    expect(within(dialog).getByRole("button", { name: "Add agent" }).hasAttribute("disabled")).toBe(
      true,
    );
    await userEvent.click(within(dialog).getByRole("radio", { name: "ACP" }));
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Program" }), "nowhere");
    await userEvent.click(within(dialog).getByRole("button", { name: "Find program" }));
    await within(dialog).findByText(/nowhere is not on the PATH/);
    await userEvent.click(within(dialog).getByRole("combobox", { name: "Model" }));
    await within(dialog).findByText(/does not tell its models before it is signed in/);
  });

  it("shows what the engine found wrong with a field of the configuration", async () => {
    const { host } = open();
    host.answer("agent_create", () =>
      refuseInput("failed to add the agent", "config.effort", "is not an effort it knows"),
    );
    await machine();
    await userEvent.keyboard("n");
    const dialog = await screen.findByRole("dialog");
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "x");
    await userEvent.click(within(dialog).getByRole("button", { name: "Add agent" }));
    await within(dialog).findByText("is not an effort it knows");
    const effort = within(dialog).getByRole("textbox", { name: "Effort" });
    expect(effort.getAttribute("aria-invalid")).toBe("true");
  });

  it.each(["ACP", "Command"])(
    "confines an agent of the adapter %s as it says itself, and says a refusal at that field",
    async (adapter) => {
      const { host, container } = open();
      host.answer("agent_create", () =>
        refuseInput("failed to add the agent", "config.sandbox", "needs Landlock"),
      );
      await machine();
      await userEvent.keyboard("n");
      const dialog = await screen.findByRole("dialog");
      const box = (name: string) => within(dialog).getByRole("textbox", { name });
      await userEvent.click(within(dialog).getByRole("radio", { name: adapter }));
      await userEvent.type(box("Name"), "x");
      await userEvent.type(box(adapter === "ACP" ? "Program" : "Shell command"), "run");
      const sandbox = within(dialog).getByRole("combobox", { name: "Sandbox" });
      expect(sandbox.textContent).toBe("Project setting");
      await userEvent.click(sandbox);
      await userEvent.click(await screen.findByRole("option", { name: /^Files and network/ }));
      await userEvent.click(within(dialog).getByRole("button", { name: "Add agent" }));
      await within(dialog).findByText("needs Landlock");
      expect(sandbox.getAttribute("aria-invalid")).toBe("true");
      expect(inputsOf(host, "agent_create")).toMatchObject([
        { config: { sandbox: "files_and_network" } },
      ]);
      expect(await violationsIn(container)).toEqual([]);
    },
  );

  it("keeps the sandbox of a profile that is saved", async () => {
    const host = createSampleHost("agents", 20);
    const stored = sampleAgent({
      id: "a1",
      name: "Codex",
      adapter: "codex",
      config: { sandbox: "off" },
    });
    host.answer("agent_list", pageOf([stored]));
    openApp(host, "#/agents");
    await userEvent.click(await screen.findByRole("button", { name: "Edit Codex" }));
    const dialog = await screen.findByRole("dialog", { name: "Edit Codex" });
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "!");
    await userEvent.click(within(dialog).getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(inputsOf(host, "agent_update")).toMatchObject([
        { agent_id: "a1", config: { sandbox: "off" } },
      ]),
    );
  });

  it("runs an agent on machines of its own, and says a refusal at that field", async () => {
    const { host, container } = open();
    host.answer("agent_create", () =>
      refuseInput("failed to add the agent", "config.machines[0]", "must be a label"),
    );
    await machine();
    await userEvent.keyboard("n");
    const dialog = await screen.findByRole("dialog");
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "x");
    const where = within(dialog).getByRole("combobox", { name: "Runs on" });
    expect(where.textContent).toBe("Project setting");
    within(dialog).getByText("Each project decides.");
    await userEvent.click(where);
    await userEvent.click(await screen.findByRole("option", { name: "Machines with labels" }));
    const known = within(dialog).getByRole("group", { name: "Known labels and machines" });
    await userEvent.click(within(known).getByRole("button", { name: "gpu" }));
    within(dialog).getByText("gpu-box fits now.");
    await userEvent.click(within(dialog).getByRole("button", { name: "Add agent" }));
    await within(dialog).findByText("must be a label");
    const box = within(dialog).getByRole("textbox", { name: "Labels or machine names" });
    expect(box.getAttribute("aria-invalid")).toBe("true");
    expect(inputsOf(host, "agent_create")).toMatchObject([{ config: { machines: ["gpu"] } }]);
    expect(await violationsIn(container)).toEqual([]);
  });
});
