import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as chunks they may take longer than a test has.
import "#ui/features/board/BoardScreen.tsx";
import "#ui/features/projects/ProjectSettingsScreen.tsx";
import "#ui/features/issues/ImportIssuesDialog.tsx";
import { pageOf, refuse, refuseInput } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { interruptedImport, sampleImport } from "#ui/test/sampleIssues.ts";

const opener = () => screen.findByRole("button", { name: "Import issues" });

async function openDialog(sample: string | null = null, prepare = (_host: SampleHost) => {}) {
  const host = createSampleHost(sample, 20);
  prepare(host);
  openApp(host, "#/board/p1");
  await userEvent.click(await opener());
  const dialog = await screen.findByRole("dialog", { name: "Import issues" });
  return { host, dialog, inside: within(dialog) };
}

const button = async (name: string | RegExp) => screen.findByRole("button", { name });
const press = async (name: string | RegExp) => userEvent.click(await button(name));
const listed = () => screen.findByRole("list", { name: "Issues of GitHub octo/app" });

/** What the engine answers about the import from now on. */
function become(host: SampleHost, found = sampleImport()) {
  host.answer("issue_imports", pageOf([found]));
  host.answer("issue_import_get", found);
  host.commit({ tags: ["issues"] });
}

const sampleEnd = "2026-01-01T00:00:00Z";

describe("issues of the code host", () => {
  it("are searched when asked, not at each key, and more are loaded", async () => {
    const { host, inside } = await openDialog();
    await listed();
    expect(document.activeElement).toBe(inside.getByRole("textbox", { name: "Text" }));
    await press("Load more");
    await screen.findByText("5 issues shown");
    await waitFor(() =>
      expect(document.activeElement).toBe(inside.getByRole("checkbox", { name: /^#229 / })),
    );
    expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
    await userEvent.type(inside.getByRole("textbox", { name: "Text" }), "csv");
    await userEvent.type(inside.getByRole("textbox", { name: "Labels" }), "bug, import{Enter}");
    await waitFor(async () => expect((await listed()).children).toHaveLength(1));
    expect(inputsOf(host, "issue_list")).toEqual([
      { project_id: "p1", state: "open", page: 1 },
      { project_id: "p1", state: "open", page: 2 },
      { project_id: "p1", state: "open", q: "csv", labels: "bug,import", page: 1 },
    ]);
  });

  it("are picked by keys and imported into a state; the import is shown", async () => {
    const { host, inside, dialog } = await openDialog();
    const list = within(await listed());
    expect((await listed()).firstElementChild?.textContent).toContain(
      "Task #2: importing updates it",
    );
    list.getByRole("checkbox", { name: /^#241 / }).focus();
    await userEvent.keyboard(" ");
    await userEvent.click(list.getByRole("checkbox", { name: /^#236 / }));
    expect(inside.getByText("2 selected")).toBeTruthy();
    await userEvent.click(inside.getByRole("combobox", { name: "State for new tasks" }));
    const options = await screen.findAllByRole("option");
    expect(options.map(({ textContent }) => textContent)).toEqual(["Backlog", "Todo"]);
    await userEvent.click(screen.getByRole("option", { name: "Todo" }));
    await waitFor(() => expect(screen.queryByRole("listbox")).toBeNull());
    expect(await violationsIn(document.body)).toEqual([]);
    await press("Import 2 issues");
    const progress = await screen.findByRole("group", { name: "GitHub octo/app" });
    expect(inputsOf(host, "issue_import")).toEqual([
      { project_id: "p1", numbers: [241, 236], into: "todo" },
    ]);
    await waitFor(() => expect(dialog.contains(document.activeElement)).toBe(true));
    expect(within(progress).getByRole("progressbar").getAttribute("aria-valuetext")).toBe(
      "22 of 40",
    );
    expect(progress.textContent).toContain(
      "12 tasks created, 3 updated, 4 up to date, 1 differs, 2 left out.",
    );
    expect(await violationsIn(document.body)).toEqual([]);
  });

  it("are all selected and cleared together", async () => {
    const { inside } = await openDialog();
    await listed();
    const all = inside.getByRole("checkbox", { name: "Select all shown" });
    await userEvent.click(all);
    await button("Import 4 issues");
    await press("Clear selection");
    await button("Import all that match");
    expect(all.getAttribute("aria-checked")).toBe("false");
    expect(document.activeElement).toBe(all);
  });

  it("are imported by the shown search when none is selected", async () => {
    const { host, inside } = await openDialog();
    await listed();
    await userEvent.type(inside.getByRole("textbox", { name: "Text" }), "csv");
    const all = await button("Import all that match");
    expect(all.hasAttribute("disabled")).toBe(true);
    await press("Search");
    await waitFor(() => expect(all.hasAttribute("disabled")).toBe(false));
    await userEvent.click(all);
    await screen.findByRole("group", { name: "GitHub octo/app" });
    expect(inputsOf(host, "issue_import")).toEqual([
      { project_id: "p1", q: "csv", state: "open", into: "backlog" },
    ]);
  });

  it("that do not match say so", async () => {
    const { inside } = await openDialog();
    await listed();
    await userEvent.type(inside.getByRole("textbox", { name: "Text" }), "nothing{Enter}");
    await screen.findByRole("heading", { name: "No issues match" });
    expect(inside.queryByRole("checkbox")).toBeNull();
  });

  it("without a code host: say what to do and lead to the settings", async () => {
    await openDialog("no-host");
    const alert = await screen.findByRole("alert", { name: "No code host for this project" });
    expect((await button("Import all that match")).hasAttribute("disabled")).toBe(true);
    expect(alert.textContent).toContain("add a code host in the project's settings");
    expect(await violationsIn(document.body)).toEqual([]);
    await userEvent.click(within(alert).getByRole("button", { name: "Open settings" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(location.hash).toBe("#/settings/project/p1?tab=pullRequests");
  });

  it("of a host that does not answer are asked for again", async () => {
    const { host, dialog } = await openDialog(null, (each) =>
      each.answer("issue_list", () => refuse("host_unavailable", "GitHub refused the token (401)")),
    );
    const alert = await screen.findByRole("alert", { name: "Could not list the issues" });
    expect(alert.textContent).toContain("GitHub refused the token (401)");
    host.answer("issue_list", {
      kind: "github",
      source: "GitHub octo/app",
      items: [],
      next_page: null,
    });
    await userEvent.click(within(alert).getByRole("button", { name: "Try again" }));
    await screen.findByRole("heading", { name: "No issues match" });
    expect(screen.queryByRole("alert")).toBeNull();
    expect(dialog.contains(document.activeElement)).toBe(true);
  });
});

describe("a file", () => {
  const choose = async (name: string, text: string) => {
    await userEvent.click(await screen.findByRole("tab", { name: "File" }));
    const field = document.querySelector<HTMLInputElement>("input[type=file]");
    if (!field) throw new Error("Could not find the file field.");
    // jsdom's files cannot be read.
    const bytes = new TextEncoder().encode(text);
    await userEvent.upload(
      field,
      Object.assign(new File([text], name), { arrayBuffer: () => Promise.resolve(bytes.buffer) }),
    );
    await screen.findByText(name);
  };

  it("is read in the page and imported", async () => {
    const { host } = await openDialog(null, (each) =>
      each.answer("issue_import_get", sampleImport({ kind: "markdown", source: "plan.md" })),
    );
    await choose("plan.md", "- [ ] Tidy up\n");
    expect(await violationsIn(document.body)).toEqual([]);
    await press("Import file");
    await screen.findByRole("group", { name: "plan.md" });
    expect(inputsOf(host, "issue_import_file")).toEqual([
      { project_id: "p1", name: "plan.md", text: "- [ ] Tidy up\n", into: "backlog" },
    ]);
  });

  it("that the engine refuses says why at its field, until another is chosen", async () => {
    const { inside } = await openDialog(null, (host) =>
      host.answer("issue_import_file", () =>
        refuseInput("text: has no issues", "text", "must have 1 to 2000 issues, and has 0"),
      ),
    );
    await choose("plan.md", "Nothing");
    await press("Import file");
    const alert = await inside.findByText("must have 1 to 2000 issues, and has 0");
    expect(alert.getAttribute("role")).toBe("alert");
    expect((await button("Choose file…")).getAttribute("aria-describedby")).toContain(alert.id);
    await choose("other.csv", "title\nA\n");
    expect(inside.queryByText("must have 1 to 2000 issues, and has 0")).toBeNull();
  });

  it("that is a database is sent as bytes, with the board that the engine asks for", async () => {
    const projects = "it has the projects shop, site: name one of them";
    const { host, inside } = await openDialog(null, (each) =>
      each.answer("issue_import_file", ({ board }) =>
        board ? sampleImport() : refuseInput("board: no", "board", projects),
      ),
    );
    const content = "SQLite format 3\0rest";
    await choose("db.sqlite", content);
    expect(inside.queryByRole("combobox", { name: "Format" })).toBeNull();
    expect(inside.getByText(/^Close vibe-kanban before/)).toBeTruthy();
    expect(await violationsIn(document.body)).toEqual([]);
    await press("Import file");
    await inside.findByText(projects);
    const board = inside.getByRole("textbox", { name: "Board" });
    expect(board.getAttribute("aria-invalid")).toBe("true");
    await userEvent.type(board, " shop ");
    await press("Import file");
    await screen.findByRole("group", { name: "GitHub octo/app" });
    const sent = { project_id: "p1", name: "db.sqlite", data: btoa(content), into: "backlog" };
    expect(inputsOf(host, "issue_import_file")).toEqual([sent, { ...sent, board: "shop" }]);
  });

  it("of text that the engine wants a board for gets the field; another file has none", async () => {
    const { inside } = await openDialog(null, (host) =>
      host.answer("issue_import_file", () => refuseInput("board: no", "board", "name one")),
    );
    await choose("export.json", "[]");
    expect(inside.queryByRole("textbox", { name: "Board" })).toBeNull();
    await press("Import file");
    await inside.findByText("name one");
    await userEvent.type(inside.getByRole("textbox", { name: "Board" }), "shop");
    await choose("plan.md", "- [ ] A");
    expect(inside.queryByRole("textbox", { name: "Board" })).toBeNull();
  });

  it("with a chosen format is imported as that; a refusal of it is at the format", async () => {
    const { host, inside } = await openDialog(null, (each) =>
      each.answer("issue_import_file", () => refuseInput("kind: no", "kind", "must be csv")),
    );
    await choose("tasks.csv", "title\nA\n");
    await userEvent.click(inside.getByRole("combobox", { name: "Format" }));
    await userEvent.click(await screen.findByRole("option", { name: "CSV" }));
    await press("Import file");
    await inside.findByText("must be csv");
    expect(inside.getByRole("combobox", { name: "Format" }).getAttribute("aria-invalid")).toBe(
      "true",
    );
    expect(inputsOf(host, "issue_import_file")).toMatchObject([{ kind: "csv" }]);
  });
});

describe("an import", () => {
  it("under way is shown when the dialog opens, follows the engine, and outlives the dialog", async () => {
    const { host } = await openDialog(null, (each) => become(each));
    await screen.findByText("Running");
    become(host, sampleImport({ counts: { ...sampleImport().counts, created: 20 } }));
    await screen.findByText(/^20 tasks created/);
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const back = await opener();
    await waitFor(() => expect(document.activeElement).toBe(back));
    expect(inputsOf(host, "issue_import_cancel")).toEqual([]);
    await userEvent.click(back);
    await screen.findByText(/^20 tasks created/);
  });

  it("that failed says why and what to do, lists what failed, and continues", async () => {
    const { host, dialog } = await openDialog("issues");
    const alert = await screen.findByRole("alert", { name: "The import cannot continue" });
    expect(alert.textContent).toContain("GitHub refused the token (401).Store a token");
    const failures = await screen.findByRole("list", { name: "Not imported" });
    expect(failures.children).toHaveLength(2);
    expect(await violationsIn(document.body)).toEqual([]);
    const running = sampleImport();
    host.after("issue_import_continue", running, () => become(host, running), "issues");
    await press("Continue");
    await screen.findByText("Running");
    expect(screen.queryByRole("alert")).toBeNull();
    expect(inputsOf(host, "issue_import_continue")).toEqual([{ import_id: "import-1" }]);
    await waitFor(() => expect(dialog.contains(document.activeElement)).toBe(true));
  });

  it("that waits for the code host says until when, and can be stopped", async () => {
    const waiting = sampleImport({
      status: "waiting",
      problem: "GitHub allows no more requests.",
      retry_at: new Date(Date.now() + 90_000).toISOString(),
    });
    const { host } = await openDialog(null, (each) => become(each, waiting));
    const alert = await screen.findByRole("alert", { name: "The import is waiting" });
    expect(alert.textContent).toMatch(/Continues in 1m/);
    const stopped = sampleImport({ status: "cancelled", finished_at: sampleEnd });
    host.after("issue_import_cancel", stopped, () => become(host, stopped), "issues");
    await press("Stop import");
    await screen.findByText("Stopped");
    expect(inputsOf(host, "issue_import_cancel")).toEqual([{ import_id: "import-1" }]);
  });

  it("that is done tells its outcomes and lets more be imported", async () => {
    const { host, inside } = await openDialog(null, (each) => become(each));
    await inside.findByText("Running");
    const { counts } = interruptedImport();
    become(host, sampleImport({ status: "done", counts, finished_at: sampleEnd }));
    await inside.findByText("Done");
    expect(screen.queryByRole("progressbar")).toBeNull();
    expect(inside.getByText(/2 failed\.$/)).toBeTruthy();
    await press("Import more");
    await listed();
    expect(inputsOf(host, "issue_list")).toHaveLength(1);
  });

  it("that ended while nobody looked is told below the choice, and shown when asked", async () => {
    const { counts, failures } = interruptedImport();
    const ended = sampleImport({ status: "done", counts, failures, finished_at: sampleEnd });
    const { inside } = await openDialog(null, (each) => become(each, ended));
    await listed();
    expect(inside.getByText("Last import: GitHub octo/app")).toBeTruthy();
    await press("Show result");
    expect((await screen.findByRole("list", { name: "Not imported" })).children).toHaveLength(2);
  });

  it("that cannot be started says why", async () => {
    await openDialog(null, (host) =>
      host.answer("issue_import", () => refuse("host_unavailable", "GitHub cannot be reached")),
    );
    await listed();
    await press("Import all that match");
    const alert = await screen.findByRole("alert", { name: "Could not start the import" });
    expect(alert.textContent).toContain("GitHub cannot be reached");
  });
});

it("arrow keys go from tab to tab and stay on them", async () => {
  const { inside } = await openDialog();
  await listed();
  inside.getByRole("tab", { name: "Code host" }).focus();
  await userEvent.keyboard("{ArrowRight}");
  await button("Choose file…");
  expect(document.activeElement).toBe(inside.getByRole("tab", { name: "File" }));
  await userEvent.keyboard("{ArrowLeft}");
  await listed();
  expect(document.activeElement).toBe(inside.getByRole("tab", { name: "Code host" }));
});

it("the dialog opens from the palette", async () => {
  openApp(createSampleHost(null, 20), "#/board/p1");
  await opener();
  await userEvent.keyboard("{Control>}k{/Control}");
  await userEvent.type(await screen.findByRole("combobox"), "import issues{Enter}");
  expect(await screen.findByRole("dialog", { name: "Import issues" })).toBeTruthy();
});
